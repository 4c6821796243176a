// What a program reports of itself while it works, by HTTP, to probes, to Prometheus and to people:
//
//   GET /healthz      200, or 503 where the source says that the program no longer does its work
//   GET /metrics      for Prometheus
//   GET /status.json  what the page shows
//   GET /             the page, where there is one
//
// It has threads of its own, and asks its source from them. A caller that is slow, silent or sends
// something else than HTTP costs none of the program's time: connections, of each address and of
// all, bytes and seconds have limits (comm/http/http_server.h). Probes and the page need no token;
// the rest does where there is one.

#ifndef DTNN_APPS_MONITOR_MONITOR_H_
#define DTNN_APPS_MONITOR_MONITOR_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/flags/listen_options.h"
#include "comm/http/http_server.h"

namespace dtnn {

// What a monitor says. Called by its threads, also while the program works.
class MonitorSource {
 public:
  virtual ~MonitorSource() = default;
  virtual absl::Status Health() const { return absl::OkStatus(); }
  virtual std::string Metrics() const = 0;  // MetricsText
  virtual std::string Status() const = 0;   // JSON
  virtual std::string Page() const { return ""; }
};

class Monitor {
 public:
  // Listens when it returns, until its end; null without a port. `source` outlives it. Errors name
  // the flags, which begin with "--metrics-", and the address.
  static absl::StatusOr<std::unique_ptr<Monitor>> Start(const MonitorOptions& options,
                                                        const MonitorSource& source);

  // What Start would fail with, before the program has threads. Not `listens`: whether the port is
  // free is not asked.
  static absl::Status Check(const MonitorOptions& options, bool listens = true);

  const std::string& url() const { return url_; }  // "http://127.0.0.1:9100"

 private:
  Monitor(std::unique_ptr<HttpServer> server, std::string url)
      : server_(std::move(server)), url_(std::move(url)) {}

  const std::unique_ptr<HttpServer> server_;
  const std::string url_;
};

}  // namespace dtnn

#endif  // DTNN_APPS_MONITOR_MONITOR_H_
