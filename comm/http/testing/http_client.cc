#include "comm/http/testing/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <array>
#include <cstdlib>

#include "tensor/text/str_cat.h"

namespace dtnn::testing {

std::string HttpPost(std::string_view path, std::string_view body, std::string_view headers) {
  return StrCat("POST ", path, " HTTP/1.1\r\nHost: localhost\r\nContent-Length: ", body.size(),
                "\r\n", headers, "\r\n", body);
}

std::string HttpGet(std::string_view path, std::string_view headers) {
  return StrCat("GET ", path, " HTTP/1.1\r\nHost: localhost\r\n", headers, "\r\n");
}

HttpClient::HttpClient(uint16_t port, const std::string& authority)
    : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      context_(nullptr, SSL_CTX_free),
      ssl_(nullptr, SSL_free) {
  const timeval patience = {.tv_sec = 60, .tv_usec = 0};
  setsockopt(socket_.descriptor(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  setsockopt(socket_.descriptor(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  const int at_once = 1;
  setsockopt(socket_.descriptor(), IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  connected_ = connect(socket_.descriptor(), reinterpret_cast<const sockaddr*>(&address),
                       sizeof(address)) == 0;
  if (!connected_ || authority.empty()) return;
  context_.reset(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
  connected_ = SSL_CTX_load_verify_file(context_.get(), authority.c_str()) == 1;
  ssl_.reset(SSL_new(context_.get()));
  SSL_set1_host(ssl_.get(), "localhost");
  SSL_set_tlsext_host_name(ssl_.get(), "localhost");
  SSL_set_fd(ssl_.get(), socket_.descriptor());
  connected_ = connected_ && SSL_connect(ssl_.get()) == 1;
}

HttpClient::~HttpClient() = default;

bool HttpClient::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    size_t sent = 0;
    if (ssl_ != nullptr) {
      if (SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &sent) != 1) return false;
    } else {
      const ssize_t n = send(socket_.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      sent = size_t(n);
    }
    bytes.remove_prefix(sent);
  }
  return true;
}

bool HttpClient::ReadMore() {
  std::array<char, 1 << 16> buffer;
  size_t n = 0;
  if (ssl_ != nullptr) {
    if (SSL_read_ex(ssl_.get(), buffer.data(), buffer.size(), &n) != 1) return false;
  } else {
    const ssize_t got = recv(socket_.descriptor(), buffer.data(), buffer.size(), 0);
    if (got <= 0) return false;
    n = size_t(got);
  }
  unread_.append(buffer.data(), n);
  return true;
}

HttpResponse HttpClient::Read() {
  size_t head = 0;
  while ((head = unread_.find("\r\n\r\n")) == std::string::npos) {
    if (!ReadMore()) return {};
  }
  head += 4;
  HttpResponse response = {.head = unread_.substr(0, head)};
  response.code = std::atoi(response.head.c_str() + response.head.find(' '));
  if (response.code == 100) {
    unread_.erase(0, head);
    return Read();
  }
  constexpr std::string_view kLength = "\r\nContent-Length: ";
  const size_t length = response.head.find(kLength);
  const size_t size = length == std::string::npos
                          ? 0
                          : size_t(std::atoll(response.head.c_str() + length + kLength.size()));
  while (unread_.size() < head + size) {
    if (!ReadMore()) return {};
  }
  response.body = unread_.substr(head, size);
  unread_.erase(0, head + size);
  return response;
}

HttpResponse HttpClient::Ask(std::string_view request) {
  Send(request);
  return Read();
}

bool HttpClient::AwaitEnd() {
  while (ReadMore()) {
  }
  return errno != EAGAIN;
}

void HttpClient::EndSending() { shutdown(socket_.descriptor(), SHUT_WR); }

void HttpClient::Reset() {
  const linger now = {.l_onoff = 1, .l_linger = 0};
  setsockopt(socket_.descriptor(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  socket_ = Socket();
}

}  // namespace dtnn::testing
