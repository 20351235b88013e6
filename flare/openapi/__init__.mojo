"""OpenAPI documents of routes, and a page that shows them."""

from .api_operation import ApiOperation
from .api_router import ApiRouter
from .describes import DescribesRequest, DescribesResponse
from .open_api import OpenApi
from .request_problem import RequestProblem
from .route_description import RouteDescription
from .security_scheme import SecurityScheme
