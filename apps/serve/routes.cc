#include "apps/serve/routes.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "apps/monitor/metrics_text.h"
#include "apps/serve/page.h"
#include "models/serving/best_predictions.h"
#include "models/serving/protocol/infer_answer.h"
#include "models/serving/protocol/infer_request.h"
#include "models/serving/protocol/input_samples.h"
#include "models/serving/protocol/model_metadata.h"
#include "tensor/errors.h"
#include "tensor/text/json_text.h"
#include "tensor/text/number.h"
#include "tensor/text/one_line.h"
#include "tensor/text/version.h"

namespace dtnn {
namespace {

using ModelVersion = ServedModel::Version;

// An image of 33 megapixels takes 100 MB while it is decoded.
constexpr int64_t kMostPixels = int64_t{1} << 25;
// What is parsed and copied in less time than it takes to wake a thread, or in little more.
constexpr size_t kBriefJson = 4096, kBriefBody = size_t{1} << 20;
constexpr std::string_view kJsonBytes = "Inference-Header-Content-Length";

std::vector<std::string_view> Words(std::string_view path) {
  std::vector<std::string_view> words;
  while (!path.empty()) {
    path.remove_prefix(1);
    const size_t end = std::min(path.find('/'), path.size());
    words.push_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  if (!words.empty() && words.back().empty()) words.pop_back();
  return words;
}

int CodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kUnimplemented:
      return 400;
    case absl::StatusCode::kResourceExhausted:
      return 503;
    default:
      return 500;
  }
}

HttpAnswer ErrorAnswer(const absl::Status& status) {
  const int code = CodeOf(status);
  const std::string message(status.message());
  return code == 503 ? HttpBusy(message) : HttpError(code, message);
}

HttpAnswer WrongMethod(const HttpRequest& request, const char* allowed) {
  HttpAnswer answer = HttpError(405, StrCat(OneLine(request.path, 200), ": takes ", allowed,
                                            ", not ", OneLine(request.method, 20)));
  answer.headers = {{"Allow", allowed}};
  return answer;
}

std::optional<HttpAnswer> UnknownForm(const HttpRequest& request) {
  if (const std::string* encoding = request.Header("Content-Encoding");
      encoding != nullptr && *encoding != "identity") {
    return HttpError(415, StrCat("Content-Encoding ", Quoted(*encoding),
                                 "; expected a body that is not compressed"));
  }
  if (const std::string* type = request.Header("Content-Type");
      type != nullptr && type->starts_with("multipart/")) {
    return HttpError(415,
                     "the body is a form; expected the file itself, as curl --data-binary @FILE "
                     "sends it");
  }
  return std::nullopt;
}

// What follows /v2/models/M.
struct ModelPath {
  std::string_view version = {};  // empty: the current one
  std::string_view verb = {};     // "", "ready" or "infer"
};

std::optional<ModelPath> ParseModelPath(std::span<const std::string_view> words) {
  ModelPath path;
  if (words.size() >= 2 && words[0] == "versions") {
    path.version = words[1];
    words = words.subspan(2);
  }
  if (words.size() > 1) return std::nullopt;
  if (words.size() == 1) path.verb = words[0];
  if (!path.verb.empty() && path.verb != "ready" && path.verb != "infer") return std::nullopt;
  return path;
}

absl::Status CheckVersion(const ServedModel& model, const ModelVersion& current,
                          std::string_view version) {
  if (version.empty() || version == StrCat(current.number)) return absl::OkStatus();
  return NotFound("model ", model.name(), " has version ", current.number, ", not ",
                  OneLine(version, 40));
}

absl::StatusOr<size_t> JsonBytes(const HttpRequest& request) {
  const std::string* const text = request.Header(kJsonBytes);
  if (text == nullptr) return request.body.size();
  const std::optional<size_t> bytes = NumberIn<size_t>(*text);
  if (bytes && *bytes <= request.body.size()) return *bytes;
  return InvalidArgument(kJsonBytes, " is ", Quoted(*text, 40), "; expected at most the ",
                         request.body.size(), " bytes of the body");
}

HttpAnswer NoSuchPath(const HttpRequest& request) {
  return HttpError(404, StrCat(OneLine(request.path, 200),
                               ": unknown path; /v2/models lists the models, /v2/models/MODEL says "
                               "what one takes"));
}

}  // namespace

const std::vector<std::string>& Routes::OpenPaths() {
  static const auto* const paths =
      new std::vector<std::string>{"/", "/v2/health/live", "/v2/health/ready"};
  return *paths;
}

const ServedModel* Routes::Find(std::string_view name) const {
  for (const auto& model : models_) {
    if (model->name() == name) return model.get();
  }
  return nullptr;
}

const ServedModel* Routes::ModelOf(const HttpRequest& request) const {
  const std::vector<std::string_view> words = Words(request.path);
  if (words.size() >= 3 && words[0] == "v2" && words[1] == "models") return Find(words[2]);
  if (words.size() != 1 || words[0] != "classify") return nullptr;
  const std::string* const name = request.Query("model");
  if (name != nullptr) return Find(*name);
  return models_.size() == 1 ? models_[0].get() : nullptr;
}

void Routes::Count(const HttpRequest& request, int code, double seconds) const {
  const ServedModel* const model = ModelOf(request);
  metrics_.CountRequest(model == nullptr ? "" : model->name(), code);
  if (model != nullptr && code == 200 && request.method == "POST") {
    metrics_.CountPrediction(model->name(), seconds);
  }
}

void Routes::Answer(HttpRequest& request, HttpReply reply) const {
  const std::vector<std::string_view> words = Words(request.path);
  const bool classifies = words.size() == 1 && words[0] == "classify";
  const bool infers =
      words.size() >= 4 && words[0] == "v2" && words[1] == "models" && words.back() == "infer";
  if (!classifies && !infers) {
    return reply.Send(request.method == "GET" ? AnswerAtOnce(request)
                                              : WrongMethod(request, "GET"));
  }
  if (request.method != "POST") return reply.Send(WrongMethod(request, "POST"));
  if (std::optional<HttpAnswer> refusal = UnknownForm(request)) {
    return reply.Send(*std::move(refusal));
  }
  // Where the request is taken the reply is gone afterwards.
  const absl::Status status = classifies ? Classify(request, reply) : Infer(request, reply);
  if (!status.ok()) reply.Send(ErrorAnswer(status));
}

bool Routes::Brief(const HttpRequest& request) {
  const absl::StatusOr<size_t> bytes = JsonBytes(request);
  if (!bytes.ok() || *bytes > kBriefJson || request.body.size() > kBriefBody) return false;
  // UINT8 means images, whose conversion can take long; it could be written with escapes.
  const std::string_view json = std::string_view(request.body).substr(0, *bytes);
  return request.path.starts_with("/v2/") && json.find("UINT8") == json.npos &&
         json.find('\\') == json.npos;
}

HttpAnswer Routes::AnswerAtOnce(const HttpRequest& request) const {
  const std::vector<std::string_view> words = Words(request.path);
  if (words.empty()) return ServerPage();
  if (request.path == "/metrics") return MetricsText();
  if (words[0] != "v2") return NoSuchPath(request);
  if (words.size() == 1) {
    return {.body = StrCat("{\"name\": \"dtnn\", \"version\": ", JsonText(Version()),
                           ", \"extensions\": [\"binary_tensor_data\"]}\n")};
  }
  if (request.path == "/v2/health/live") return {.body = "{\"live\": true}\n"};
  if (request.path == "/v2/health/ready") return {.body = "{\"ready\": true}\n"};
  if (words[1] != "models") return NoSuchPath(request);
  if (words.size() == 2) return Models();
  const std::optional<ModelPath> path = ParseModelPath(std::span(words).subspan(3));
  if (!path) return NoSuchPath(request);
  const ServedModel* const model = Find(words[2]);
  if (model == nullptr) return ErrorAnswer(UnknownModel(words[2]));
  const std::shared_ptr<ModelVersion> current = model->current();
  const absl::Status status = CheckVersion(*model, *current, path->version);
  if (!status.ok()) return ErrorAnswer(status);
  if (path->verb == "ready") {
    return {.body = StrCat("{\"name\": ", JsonText(model->name()), ", \"ready\": true}\n")};
  }
  return {.body = ModelMetadata(model->name(), current->number, *current->predictor)};
}

absl::Status Routes::UnknownModel(std::string_view name) const {
  std::string names;
  for (const auto& model : models_) {
    names += StrCat(names.empty() ? "" : ", ", model->name());
  }
  return NotFound("unknown model ", Quoted(name), "; expected one of: ", names);
}

HttpAnswer Routes::Models() const {
  std::string names;
  for (const auto& model : models_) {
    names += StrCat(names.empty() ? "" : ", ", JsonText(model->name()));
  }
  return {.body = StrCat("{\"models\": [", names, "]}\n")};
}

HttpAnswer Routes::MetricsText() const {
  std::vector<Metrics::ModelState> states;
  for (const auto& model : models_) {
    const std::shared_ptr<ModelVersion> current = model->current();
    states.push_back({model->name(), current->number, current->batcher->queued()});
  }
  return {.body = metrics_.Text(states), .type = std::string(MetricsText::kType)};
}

absl::Status Routes::Infer(const HttpRequest& request, HttpReply& reply) const {
  const std::vector<std::string_view> words = Words(request.path);
  const std::optional<ModelPath> path = ParseModelPath(std::span(words).subspan(3));
  if (!path) return NotFound(OneLine(request.path, 200), ": unknown path");
  const ServedModel* const model = Find(words[2]);
  if (model == nullptr) return UnknownModel(words[2]);
  const std::shared_ptr<ModelVersion> current = model->current();
  DTNN_RETURN_IF_ERROR(CheckVersion(*model, *current, path->version));
  DTNN_ASSIGN_OR_RETURN(const size_t json_bytes, JsonBytes(request));
  DTNN_ASSIGN_OR_RETURN(const InferRequest infer, ParseInferRequest(request.body, json_bytes));
  DTNN_ASSIGN_OR_RETURN(AnswerForm form, AnswerForm::Of(infer));
  DTNN_ASSIGN_OR_RETURN(Tensor x, SamplesOf(infer, RulesOf(*current->predictor, max_samples_)));
  return Submit(*current, std::move(x), reply,
                [form = std::move(form), name = model->name(),
                 version = current->number](const Tensor& outputs) -> absl::StatusOr<HttpAnswer> {
                  DTNN_ASSIGN_OR_RETURN(InferAnswer answer,
                                        FormatInferAnswer(form, name, version, outputs));
                  HttpAnswer http = {.body = std::move(answer.body)};
                  if (answer.json_bytes) {
                    http.type = "application/octet-stream";
                    http.headers = {{std::string(kJsonBytes), StrCat(*answer.json_bytes)}};
                  }
                  return http;
                });
}

absl::Status Routes::Classify(const HttpRequest& request, HttpReply& reply) const {
  for (const auto& [name, value] : request.query) {
    if (name == "model" || name == "top") continue;
    return InvalidArgument("unknown parameter ", Quoted(name, 40), "; expected model or top");
  }
  const ServedModel* const model = ModelOf(request);
  if (model == nullptr) {
    const std::string* const name = request.Query("model");
    return name != nullptr ? UnknownModel(*name)
                           : InvalidArgument("names no model; add ?model=MODEL to the path");
  }
  std::optional<int64_t> top = 0;
  if (const std::string* const text = request.Query("top")) {
    top = NumberIn<int64_t>(*text);
    if (!top || *top < 1) {
      return InvalidArgument("top=", OneLine(*text, 40), "; expected a whole number from 1 on");
    }
  }
  const std::shared_ptr<ModelVersion> current = model->current();
  const std::shared_ptr<Predictor> predictor = current->predictor;
  DTNN_ASSIGN_OR_RETURN(const ImageInput* const images, predictor->images());
  DTNN_ASSIGN_OR_RETURN(Tensor x, predictor->NewSamples(1));
  const std::span bytes(reinterpret_cast<const uint8_t*>(request.body.data()), request.body.size());
  DTNN_RETURN_IF_ERROR(images->Decode(bytes, "the image", x, 0, kMostPixels));
  return Submit(
      *current, std::move(x), reply,
      [predictor, name = model->name(), version = current->number,
       top = *top](const Tensor& outputs) -> absl::StatusOr<HttpAnswer> {
        DTNN_ASSIGN_OR_RETURN(const Classification answer,
                              predictor->ClassificationOf("the image", outputs, 0));
        const std::vector<Prediction> best = BestPredictions(*predictor, answer.outputs, top);
        return HttpAnswer{
            .body = StrCat("{\"model_name\": ", JsonText(name), ", \"model_version\": \"", version,
                           "\", \"predictions\": ", PredictionsJson(predictor->output_kind(), best),
                           "}\n")};
      });
}

absl::Status Routes::Submit(
    const ModelVersion& version, Tensor x, HttpReply& reply,
    std::function<absl::StatusOr<HttpAnswer>(const Tensor& outputs)> format) const {
  auto later = std::make_shared<HttpReply>(std::move(reply));
  const absl::Status taken = version.batcher->Submit(
      std::move(x), [later, format = std::move(format)](const absl::StatusOr<Tensor>& outputs) {
        absl::StatusOr<HttpAnswer> answer = outputs.ok() ? format(*outputs) : outputs.status();
        later->Send(answer.ok() ? *std::move(answer) : ErrorAnswer(answer.status()));
      });
  if (!taken.ok()) later->Send(ErrorAnswer(taken));
  return absl::OkStatus();
}

}  // namespace dtnn
