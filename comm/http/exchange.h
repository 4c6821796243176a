// One request and its answer, while libmicrohttpd reads, keeps and writes them.

#ifndef DTNN_COMM_HTTP_EXCHANGE_H_
#define DTNN_COMM_HTTP_EXCHANGE_H_

#include <microhttpd.h>

#include <chrono>
#include <cstddef>
#include <functional>

#include "comm/http/deadlines.h"
#include "comm/http/http_message.h"
#include "comm/http/http_server.h"

namespace dtnn {

class HttpReply::Exchange {
 public:
  MHD_Connection* connection = nullptr;
  Deadlines::Connection* deadline = nullptr;
  HttpRequest request = {};
  HttpAnswer answer = {};
  bool answered = false;  // `answer` is what is sent
  size_t declared = 0;    // bytes of the body by its header; 0: unknown
  size_t received = 0;    // those that have come
  size_t kept = 0;        // those that count in the limit for all
  std::chrono::steady_clock::time_point began = {};
  std::function<void()> resume = {};  // after `answer` was set by another thread
};

}  // namespace dtnn

#endif  // DTNN_COMM_HTTP_EXCHANGE_H_
