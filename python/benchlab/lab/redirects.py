"""Whether what is about to be measured is a redirect, which is fast to answer and seldom meant.

A Measurement keeps the statuses of failures alone, and over HTTP any status below 400 is a good
answer unless the workload expects another. So the Plan's own plain requests are made once, before
the load. Absent: requests that change something or hold drawn values, and following a redirect.
"""

import http.client
import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

ANSWER_S = 1.0
SAFE = ("GET", "HEAD")


def told(plan: Mapping[str, Any]) -> str:
    """Which of a Plan's requests are answered with a redirect; empty where none is known to be.

    A system that does not answer is not spoken of: its trial tells.
    """
    if plan["driver"]["kind"] != "http":
        return ""
    operations = [o for t in plan["workload"]["transactions"] for o in t["operations"]]
    said = []
    for operation in operations:
        request = operation["request"]["http"]
        if (operation.get("expect") or {}).get("status") or not _is_plain(request):
            continue
        try:
            status, to = _ask(plan["driver"]["targets"][0], request)
        except (OSError, http.client.HTTPException):
            continue
        if 300 <= status < 400:
            where = f" (to {to})" if to else ""
            said.append(f"{request['method']} {_literal(request['path'])}: status {status}{where}")
    if not said:
        return ""
    return (
        f"{'; '.join(dict.fromkeys(said))}: redirects are counted as answers and are not followed; "
        "ask for what they lead to, or say what is right with `expect: {status: …}`"
    )


def _is_plain(request: Mapping[str, Any]) -> bool:
    texts = [request["path"], *(value for _, value in request.get("headers", ()))]
    is_drawn = any("${" in text.replace("$${", "") for text in texts)
    return request["method"] in SAFE and not request.get("body") and not is_drawn


def _literal(text: str) -> str:
    return text.replace("$${", "${")


def _ask(target: str, request: Mapping[str, Any]) -> tuple[int, str]:
    parts = urlsplit(target)
    client: http.client.HTTPConnection
    if parts.scheme == "https":
        # Whether to trust the certificate is the driver's question.
        context = ssl._create_unverified_context()
        client = http.client.HTTPSConnection(parts.netloc, timeout=ANSWER_S, context=context)
    else:
        client = http.client.HTTPConnection(parts.netloc, timeout=ANSWER_S)
    headers = {name: _literal(value) for name, value in request.get("headers", ())}
    try:
        client.request(request["method"], _literal(request["path"]), headers=headers)
        answer = client.getresponse()
        return answer.status, answer.headers.get("Location", "")
    finally:
        client.close()
