// Where a program answers by HTTP, and which requests it answers (apps/monitor/listening.h).

#ifndef DTNN_APPS_FLAGS_LISTEN_OPTIONS_H_
#define DTNN_APPS_FLAGS_LISTEN_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>

namespace dtnn {

struct ListenOptions {
  std::string listen = "127.0.0.1";
  std::string certificate = {}, key = {}, token_file = {};
  bool allow_unprotected = false;
  std::string allowed_hosts = {};  // names, separated by commas

  friend bool operator==(const ListenOptions&, const ListenOptions&) = default;
};

// Those of a program that reports on itself (apps/monitor).
struct MonitorOptions : ListenOptions {
  std::optional<int64_t> port = {};  // nothing: none; 0: a free one

  friend bool operator==(const MonitorOptions&, const MonitorOptions&) = default;
};

}  // namespace dtnn

#endif  // DTNN_APPS_FLAGS_LISTEN_OPTIONS_H_
