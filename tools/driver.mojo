"""Exports the functions of the driver library (tools/driver_library.py)."""

from flare.core import Erased, PointerTo, heap_create
from flare.http import routes
from flare.http.client import requests
from flare.http.client.client_functions import ClientFunctions
from flare.http.client.download_functions import DownloadFunctions
from flare.http.client.stream import streaming
from flare.http.client.stream.stream_functions import StreamFunctions
from flare.http.client.upgrade_functions import UpgradeFunctions
from flare.http.router_functions import RouterFunctions
from flare.http.server import serving
from flare.http.server.server_functions import ServerFunctions
from flare.json import documents
from flare.json.json_functions import JsonFunctions
from flare.sys.driver import DriverTables
from flare.sys.thread_cell import thread_words_place


@export
def flare_driver() abi("C") -> PointerTo[DriverTables]:
    """Returns the tables of the library's functions.

    Returns:
        The tables, which are never freed.
    """
    return heap_create(
        DriverTables(
            thread_words=thread_words_place(),
            json=_kept(_json_functions()),
            router=_kept(_router_functions()),
            server=_kept(_server_functions()),
            client=_kept(_client_functions()),
            stream=_kept(_stream_functions()),
            upgrade=_kept(_upgrade_functions()),
            download=_kept(DownloadFunctions(download=requests.download)),
        )
    )


def _kept[T: Movable](var table: T) -> Erased:
    return heap_create(table^).unsafe_bitcast[NoneType]()


def _json_functions() -> JsonFunctions:
    return JsonFunctions(
        parse=documents.parse,
        find_member=documents.find_member,
        error_of=documents.error_of,
        wrong_type=documents.wrong_type,
        no_such_key=documents.no_such_key,
        error_at=documents.error_at,
        nearest_float=documents.nearest_float,
        write=documents.write,
    )


def _router_functions() -> RouterFunctions:
    return RouterFunctions(
        open_router=routes.open_router,
        copy_router=routes.copy_router,
        close_router=routes.close_router,
        add_route=routes.add_route,
        mount=routes.mount,
        answer=routes.answer,
    )


def _server_functions() -> ServerFunctions:
    return ServerFunctions(
        open_server=serving.open_server,
        close_server=serving.close_server,
        bind_addresses=serving.bind_addresses,
        bind_text=serving.bind_text,
        listen=serving.listen,
        add=serving.add,
        local_address=serving.local_address,
        serve=serving.serve_endpoint,
    )


def _client_functions() -> ClientFunctions:
    return ClientFunctions(
        open_client=requests.open_client,
        copy_client=requests.copy_client,
        close_client=requests.close_client,
        close_idle=requests.close_idle,
        request_once=requests.request_once,
        begin=requests.begin,
        carry_out=requests.carry_out,
        send=requests.send,
        post_form=requests.post_form,
        open_stream=requests.open_stream,
        stream_response=requests.stream_response,
        set_cookie=requests.set_cookie,
    )


def _upgrade_functions() -> UpgradeFunctions:
    return UpgradeFunctions(
        open=requests.open_upgrade,
        await_end=requests.await_upgrade_end,
        end=requests.end_upgrade,
        end_sending=requests.end_upgrade_sending,
        take=requests.take_upgrade,
    )


def _stream_functions() -> StreamFunctions:
    return StreamFunctions(
        drop=streaming.drop,
        close=streaming.close,
        give_up=streaming.give_up,
        write=streaming.write,
        begin_content=streaming.begin_content,
        set_trailer=streaming.set_trailer,
        end=streaming.end,
        receive_head=streaming.receive_head,
        read=streaming.read,
        read_all=streaming.read_all,
        has_received=streaming.has_received,
        finish=streaming.finish,
    )
