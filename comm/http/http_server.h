// A server of HTTP/1.1 for programs, by libmicrohttpd: one thread moves the bytes of all
// connections and runs the handler for brief requests, a few others run it for the rest, and an
// answer may come later, from any thread.
//
// A caller cannot make it wait or keep more than the limits say: it has a time in which to send a
// whole request, and one in which to read a whole answer, however it spreads its bytes. What is
// refused here, before the handler sees it: requests that say their length in two ways or in a
// coding other than chunked, or whose headers have characters that others read in another way
// (400), those of HTTP/1.1 that do not name one host (400), other names of this host than those
// allowed (421), wrong tokens (401), large bodies (413), and too many bytes in all bodies (503).
// libmicrohttpd answers malformed requests (400, 413, 505) and large headers (431) itself, in HTML.
// A 400 ends the connection. The body of another request that is refused is read and discarded
// first, for as long as a request may take and up to 16 times `body_bytes`: few callers read an
// answer before they have sent everything. Bodies may be chunked, requests may follow each other
// without waiting for answers.

#ifndef DTNN_COMM_HTTP_HTTP_SERVER_H_
#define DTNN_COMM_HTTP_HTTP_SERVER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "comm/http/http_message.h"
#include "comm/transport/tcp/socket.h"

namespace dtnn {

// The one answer to a request, from any thread. Without an answer, the caller gets 500; where an
// exception, such as std::bad_alloc, was the reason, 503.
class HttpReply {
 public:
  class Exchange;

  explicit HttpReply(Exchange* exchange) : exchange_(exchange) {}
  HttpReply(HttpReply&& other) noexcept : exchange_(std::exchange(other.exchange_, nullptr)) {}
  HttpReply& operator=(HttpReply&&) = delete;
  ~HttpReply();

  // The request is gone afterwards.
  void Send(HttpAnswer answer);

 private:
  Exchange* exchange_;
};

struct HttpServerOptions {
  Endpoint address = {.host = "127.0.0.1"};  // port 0: one that is free
  // A socket that listens there already, which the server takes; -1: it listens itself.
  int listener = -1;
  // For a server by TLS (1.2 and 1.3), in PEM form; the key's owner alone may read it. Or neither.
  std::string certificate_file = {}, key_file = {};
  // What callers must send as `Authorization: Bearer TOKEN`, but for these paths; empty: nothing.
  // The server keeps a hash of it; the handler gets no Authorization header.
  std::string token = {};
  std::vector<std::string> open_paths = {};
  // What callers may call this host, in any case and with any port, in the header Host: a page that
  // a browser shows cannot then reach a server that only its host should, by a name of the page's
  // own that leads here (DNS rebinding). Names of the loopback are always right. nullopt: anything.
  std::optional<std::vector<std::string>> hosts = {};

  int connections = 256;          // more wait until one ends
  int address_connections = 0;    // of them from one address, more are closed; 0: any number
  size_t header_bytes = 1 << 16;  // of a request's first lines; half of it is read at a time
  size_t body_bytes = size_t{1} << 25;
  size_t all_body_bytes = size_t{1} << 29;  // in memory at a time, of which each that began holds
                                            // what it declares, up to 1 MiB
  // For the other end: to send a request, to read an answer, and between the two.
  std::chrono::milliseconds patience{30'000};
  int workers = 2;  // threads that run the handler for requests that are not brief
  // Whether the handler takes so little time for this request that the thread that moves the bytes
  // of all connections runs it itself, instead of waking a worker for it. The handler must not wait
  // then: all connections would wait with it.
  std::function<bool(const HttpRequest& request)> brief = {};
  // After each answer of this class: what was asked, without its body, and how long it took.
  std::function<void(const HttpRequest& request, int code, std::chrono::duration<double> took)>
      on_answer = {};
};

class HttpServer {
 public:
  // Runs on several threads at once. The request is valid until the answer is sent.
  using Handler = std::function<void(HttpRequest& request, HttpReply reply)>;

  // Listens when it returns. Errors name the address, or the file of the certificate or key.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(HttpServerOptions options,
                                                           Handler handler);
  ~HttpServer();  // Stop(0)

  const Endpoint& address() const;

  // Takes no more connections, answers requests that are being read or handled, as long as `limit`
  // says, and waits for the handler's answers in any case. Once. Returns whether all were answered.
  bool Stop(std::chrono::milliseconds limit);

 private:
  class Daemon;
  explicit HttpServer(std::unique_ptr<Daemon> daemon);
  std::unique_ptr<Daemon> daemon_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_HTTP_HTTP_SERVER_H_
