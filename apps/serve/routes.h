// Which request gets which answer.
//
//   GET  /v2, /v2/health/live, /v2/health/ready, /v2/models
//   GET  /v2/models/M[/versions/V][/ready]
//   POST /v2/models/M[/versions/V]/infer     the Open Inference Protocol
//   POST /classify[?model=M][&top=N]         the body is a JPEG or PNG file
//   GET  /metrics, /

#ifndef DTNN_APPS_SERVE_ROUTES_H_
#define DTNN_APPS_SERVE_ROUTES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/serve/metrics.h"
#include "comm/http/http_message.h"
#include "comm/http/http_server.h"
#include "models/serving/served_model.h"
#include "tensor/tensor.h"

namespace dtnn {

class Routes {
 public:
  // Both outlive it. `max_samples`: of a request.
  Routes(const std::vector<std::unique_ptr<ServedModel>>& models, Metrics& metrics,
         int64_t max_samples)
      : models_(models), metrics_(metrics), max_samples_(max_samples) {}

  // Those that need no token: they say nothing of models.
  static const std::vector<std::string>& OpenPaths();

  // HttpServer::Handler, from any thread.
  void Answer(HttpRequest& request, HttpReply reply) const;
  // HttpServerOptions::brief: every short request below /v2/, those by GET too; with samples, few
  // of them that are taken as they are.
  static bool Brief(const HttpRequest& request);
  // Counts an answer that was given, here or by the server itself.
  void Count(const HttpRequest& request, int code, double seconds) const;

 private:
  HttpAnswer AnswerAtOnce(const HttpRequest& request) const;
  HttpAnswer Models() const;
  HttpAnswer MetricsText() const;
  // Where these are OK, they have taken the reply, and it gets its answer.
  absl::Status Infer(const HttpRequest& request, HttpReply& reply) const;
  absl::Status Classify(const HttpRequest& request, HttpReply& reply) const;
  absl::Status Submit(
      const ServedModel::Version& version, Tensor x, HttpReply& reply,
      std::function<absl::StatusOr<HttpAnswer>(const Tensor& outputs)> format) const;

  const ServedModel* Find(std::string_view name) const;
  absl::Status UnknownModel(std::string_view name) const;
  // That a request names, or null.
  const ServedModel* ModelOf(const HttpRequest& request) const;

  const std::vector<std::unique_ptr<ServedModel>>& models_;
  Metrics& metrics_;
  const int64_t max_samples_;
};

}  // namespace dtnn

#endif  // DTNN_APPS_SERVE_ROUTES_H_
