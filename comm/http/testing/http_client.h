// One connection to a server of HTTP, which says exactly what a test wants to say. Calls block;
// what lasts longer than 60 seconds fails.

#ifndef DTNN_COMM_HTTP_TESTING_HTTP_CLIENT_H_
#define DTNN_COMM_HTTP_TESTING_HTTP_CLIENT_H_

#include <openssl/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "comm/transport/tcp/socket.h"

namespace dtnn::testing {

// "POST PATH HTTP/1.1", with that body; `headers`: lines that end with "\r\n".
std::string HttpPost(std::string_view path, std::string_view body, std::string_view headers = {});
std::string HttpGet(std::string_view path, std::string_view headers = {});

struct HttpResponse {
  int code = 0;  // 0: the connection ended without an answer
  std::string head = {}, body = {};
};

class HttpClient {
 public:
  // `authority`: a file of the certificate that signed the server's; empty: without TLS.
  explicit HttpClient(uint16_t port, const std::string& authority = {});
  ~HttpClient();
  HttpClient(HttpClient&& other) noexcept = default;
  HttpClient& operator=(HttpClient&& other) noexcept = default;

  bool connected() const { return connected_; }
  // False where the connection has ended.
  bool Send(std::string_view bytes);
  // One whole answer.
  HttpResponse Read();
  HttpResponse Ask(std::string_view request);
  // Whether the other end has ended the connection; waits for that.
  bool AwaitEnd();
  // No more bytes are sent; answers can be read.
  void EndSending();
  // The other end sees an error rather than an end.
  void Reset();

 private:
  bool ReadMore();

  Socket socket_;
  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_;
  std::unique_ptr<SSL, void (*)(SSL*)> ssl_;
  bool connected_ = false;
  std::string unread_;
};

}  // namespace dtnn::testing

#endif  // DTNN_COMM_HTTP_TESTING_HTTP_CLIENT_H_
