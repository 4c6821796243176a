// A request by HTTP, and its answer.

#ifndef DTNN_COMM_HTTP_HTTP_MESSAGE_H_
#define DTNN_COMM_HTTP_HTTP_MESSAGE_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dtnn {

using HttpFields = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;  // "GET", "POST", ...; "GET" for HEAD
  std::string path;    // decoded, without the query
  HttpFields query;    // decoded
  HttpFields headers;
  std::string body;

  // The value of that header, in any case, or of that name in the query; null without.
  const std::string* Header(std::string_view name) const;
  const std::string* Query(std::string_view name) const;
  // How many headers of that name there are.
  int Count(std::string_view name) const;
};

struct HttpAnswer {
  int code = 200;
  std::string body = {};
  std::string type = "application/json";
  HttpFields headers = {};
};

// {"error": "..."}.
HttpAnswer HttpError(int code, std::string_view message);
// The same with 503, of a server that has too much to do, or too little memory, now.
HttpAnswer HttpBusy(std::string_view message);

}  // namespace dtnn

#endif  // DTNN_COMM_HTTP_HTTP_MESSAGE_H_
