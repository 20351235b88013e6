"""Templates of HTML that escape the values they interpolate."""

from .json_script import json_script
from .markup import Markup, raw
from .template import HtmlPage, each, html
from .url import url
