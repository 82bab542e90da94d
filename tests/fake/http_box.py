#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Boxes in the network that are switched by HTTP, with good and bad manners.

http_box.py FOLDER: serves http://127.0.0.1:PORT/KIND/MANNER for each KIND
(shelly1, shelly2, tasmota, netio, any) and MANNER, prints the names and ports of
its servers, and writes to FOLDER: "requests", a line for each request with the
number of its connection; "switched", a line for each time a relay was told to
go anywhere; "other", what came to a server that nobody has to come to; and
ca.pem, the certificate of the server "tls".

  good      answers as the vendor says
  late      the same 0.1 s later
  basic     wants a password, as Basic; digest: as Digest with SHA-256
  drop      answers and then closes the connection without having said so
  error     HTTP status 500
  html      a page that says that all is well
  half      the first half of what it should say, as if that were all
  short     the same, and then it hangs up
  slow      a byte every 20 ms
  stall     the first word of an answer, and no more
  hang      takes the request and says nothing
  closed    takes the request and hangs up
  garbage   not even HTTP
  huge      more than anybody can want to know; headers: the same before that
  redirect  sends to the other server
  welded    says that it has switched, and has not
  lazy      takes a timer and has none

All but "welded" switch whatever they say. KSHELL is served at the port "kshell":
channel 1 is good, 2 says nothing, 3 answers half a line, 4 refuses, 5 hangs up.
"""
import base64
import datetime
import hashlib
import http.server
import ipaddress
import json
import os
import re
import secrets
import socketserver
import ssl
import sys
import threading
import time
import urllib.parse

USER, PASSWORD = "admin", "sesame"
FOLDER = sys.argv[1]
lock = threading.Lock()
states = {}              # of (kind, manner, channel); not there: on
timers = {}


def note(name, line):
    with lock, open(os.path.join(FOLDER, name), "a") as out:
        out.write(line + "\n")


def switch(box, channel, is_on, seconds=0):
    kind, manner = box
    note("switched", f"{kind} {manner} {channel} {'on' if is_on else 'off'}"
         + (f" for {seconds}" if seconds else ""))
    if manner == "welded":
        return
    states[kind, manner, channel] = is_on
    if seconds and manner != "lazy":
        timers[kind, manner, channel] = seconds
        threading.Timer(seconds, back, (kind, manner, channel, not is_on)).start()


def back(kind, manner, channel, is_on):
    timers.pop((kind, manner, channel), None)
    states[kind, manner, channel] = is_on
    note("switched", f"{kind} {manner} {channel} {'on' if is_on else 'off'} "
         "by itself")


def state(box, channel):
    return states.get((*box, channel), True)


# ---- kinds: each returns the status and the text of its answer

def shelly1(box, path, query, body):
    channel = int(re.fullmatch(r"/relay/(\d+)", path)[1])
    if "turn" in query:
        switch(box, channel, query["turn"] == "on", int(query.get("timer", 0)))
    is_on = state(box, channel)
    if box[1] == "welded" and "turn" in query:
        is_on = query["turn"] == "on"
    return 200, {"ison": is_on, "has_timer": (*box, channel) in timers,
                 "timer_remaining": timers.get((*box, channel), 0),
                 "source": "http"}


def shelly2(box, path, query, body):
    assert path == "/rpc"
    call = json.loads(body)
    params = call["params"]
    channel = params["id"]
    if call["method"] == "Switch.Set":
        result = {"was_on": state(box, channel)}
        switch(box, channel, params["on"], params.get("toggle_after", 0))
    else:
        result = {"id": channel, "source": "http", "output": state(box, channel)}
        if (*box, channel) in timers:
            result["timer_started_at"] = time.time()
            result["timer_duration"] = timers[(*box, channel)] + 0.0
    return 200, {"id": call["id"], "src": "shellyplus", "result": result}


def tasmota(box, path, query, body):
    assert path == "/cm"
    channel, word = re.fullmatch(r"Power(\d+)(?: (On|Off))?",
                                 query["cmnd"]).groups()
    is_on = state(box, channel)
    if word:
        switch(box, channel, word == "On")
        is_on = word == "On"
    return 200, {"POWER" if channel == "1" else f"POWER{channel}":
                 "ON" if is_on else "OFF"}


def netio(box, path, query, body):
    assert path == "/netio.json"
    if body:
        for output in json.loads(body)["Outputs"]:
            switch(box, output["ID"], output["Action"] == 1)
    return 200, {"Agent": {"Model": "NETIO 4All", "NumOutputs": 4}, "Outputs": [
        {"ID": n, "Name": f"out_{n}", "State": int(state(box, n)),
         "Action": 6, "Delay": 500} for n in range(1, 5)]}


def any_box(box, path, query, body):
    if path.startswith("/set/"):
        switch(box, int(path[5:]), json.loads(body)["go"] == "on")
        return 204, {}
    return 200, {"power": "yes" if state(box, int(path[1:])) else "no"}


KINDS = {"shelly1": shelly1, "shelly2": shelly2, "tasmota": tasmota,
         "netio": netio, "any": any_box}


# ---- passwords

def is_basic(header):
    word = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    return header == "Basic " + word


def is_digest(header, method, nonces):
    if not header.startswith("Digest "):
        return False
    has = {k: v.strip('"') for k, v in
           re.findall(r'(\w+)=("[^"]*"|[^,\s]*)', header)}

    def sha(text):
        return hashlib.sha256(text.encode()).hexdigest()
    ha1 = sha(f"{USER}:box:{PASSWORD}")
    ha2 = sha(f"{method}:{has['uri']}")
    want = sha(f"{ha1}:{has['nonce']}:{has['nc']}:{has['cnonce']}:"
               f"{has['qop']}:{ha2}")
    return has["nonce"] in nonces and has["response"] == want


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1                        # one packet an answer
    nonces = set()
    connections = 0

    def setup(self):
        with lock:
            Handler.connections += 1
            self.number = Handler.connections
        super().setup()

    def log_message(self, *args):
        pass

    def answer(self, status, text, headers=(), length=None):
        data = text.encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(length or len(data)))
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()

    def let_in(self, manner):
        got = self.headers.get("Authorization", "")
        if manner not in ("basic", "digest") or \
                manner == "basic" and is_basic(got) or \
                manner == "digest" and is_digest(got, self.command, self.nonces):
            return True
        nonce = secrets.token_hex(8)
        self.nonces.add(nonce)
        self.answer(401, "Unauthorized: you said " + got, [
            ("WWW-Authenticate", 'Basic realm="box"' if manner == "basic" else
             f'Digest realm="box", qop="auth", nonce="{nonce}", '
             'algorithm=SHA-256')])
        return False

    def go(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        note("requests", f"{self.number} {self.command} {self.path} "
             f"{self.headers.get('X-Token', '-')}")
        _, kind, manner, path = self.path.split("/", 3)
        if not self.let_in(manner):
            return
        path = urllib.parse.urlsplit("/" + path)
        query = dict(urllib.parse.parse_qsl(path.query))
        try:
            status, told = KINDS[kind]((kind, manner), path.path, query,
                                       body.decode())
        except (AssertionError, KeyError, TypeError, ValueError) as error:
            self.answer(400, repr(error))
            return
        self.behave(manner, status, json.dumps(told))

    do_GET = do_POST = do_PUT = go

    def behave(self, manner, status, text):
        half = text[:len(text) // 2]
        if manner == "late":
            time.sleep(0.1)
        if manner == "hang":
            time.sleep(3)
        if manner in ("hang", "closed", "drop", "short", "garbage", "slow",
                      "stall"):
            self.close_connection = True
        if manner in ("hang", "closed"):
            return
        if manner == "garbage":
            self.wfile.write(bytes(range(0x80, 0x90)) * 20)
        elif manner == "stall":
            self.wfile.write(b"HTTP/1.1")
            self.wfile.flush()
            time.sleep(3)
        elif manner == "error":
            self.answer(500, text)
        elif manner == "html":
            self.answer(200, '<html>{"power": all is well}</html>')
        elif manner == "half":
            self.answer(200, half)
        elif manner == "short":
            self.answer(200, half, length=len(text))
        elif manner == "slow":
            for byte in f"HTTP/1.1 200 OK\r\nContent-Length: {len(text)}\r\n" \
                    f"\r\n{text}":
                self.wfile.write(byte.encode())
                self.wfile.flush()
                time.sleep(0.02)
        elif manner == "huge":
            self.answer(status, text + " " * 200000)
        elif manner == "headers":
            self.answer(status, text, [("X-Long", "x" * 900)] * 90)
        elif manner == "redirect":
            self.answer(302, "", [("Location",
                                   f"http://127.0.0.1:{PORTS['other']}/x")])
        else:
            self.answer(status, text)


class Other(Handler):
    def go(self):
        note("other", f"{self.command} {self.path}")
        self.answer(200, '{"ison": true, "POWER": "ON", "power": "yes"}')

    do_GET = do_POST = do_PUT = go


class Kshell(socketserver.StreamRequestHandler):
    def handle(self):
        self.wfile.write(b"100 HELLO 1A2B3C4D - KSHELL V1.5\r\n")
        is_in = False
        while line := self.rfile.readline().decode().strip():
            word = line.split()
            if word[0] == "login":
                is_in = word[1:] == [USER, PASSWORD]
                self.wfile.write(b"250 OK\r\n" if is_in else
                                 b"501 wrong: " + line.encode() + b"\r\n")
                continue
            if not is_in or word[0] != "port" or word[1] == "4":
                self.wfile.write(b"505 FORBIDDEN\r\n")
                continue
            told = str(int(state(("kshell", "good"), word[1])))
            if len(word) == 3:
                switch(("kshell", "good"), word[1], word[2] == "1")
                told = "OK"
            if word[1] == "2":
                time.sleep(8)
            if word[1] not in "25":
                half = 4 if word[1] == "3" else None
                self.wfile.write(f"250 {told}\r\n".encode()[:half])
            if word[1] != "1":
                return


def make_certificate():
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "box")])
    now = datetime.datetime.utcnow()
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    cert = (x509.CertificateBuilder().subject_name(name).issuer_name(name)
            .public_key(key.public_key()).serial_number(1)
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([address]), False)
            .sign(key, hashes.SHA256()))
    pem = serialization.Encoding.PEM
    with open(os.path.join(FOLDER, "ca.pem"), "wb") as out:
        out.write(cert.public_bytes(pem))
    with open(os.path.join(FOLDER, "key.pem"), "wb") as out:
        out.write(key.private_bytes(
            pem, serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption()))


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 100

    def handle_error(self, request, client_address):
        pass                             # nobody waits for a late answer


def main():
    make_certificate()
    for name, handler in (("other", Other), ("box", Handler), ("tls", Handler),
                          ("kshell", Kshell)):
        server = Server(("127.0.0.1", 0), handler)
        if name == "tls":
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(os.path.join(FOLDER, "ca.pem"),
                                    os.path.join(FOLDER, "key.pem"))
            server.socket = context.wrap_socket(
                server.socket, server_side=True, do_handshake_on_connect=False)
        PORTS[name] = server.server_address[1]
        threading.Thread(target=server.serve_forever, daemon=True).start()
    print(" ".join(f"{name} {port}" for name, port in PORTS.items()), flush=True)
    threading.Event().wait()


PORTS = {}
main()
