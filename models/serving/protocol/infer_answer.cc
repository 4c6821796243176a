#include "models/serving/protocol/infer_answer.h"

#include <charconv>
#include <cmath>

#include "models/serving/protocol/input_samples.h"
#include "tensor/errors.h"
#include "tensor/text/json_text.h"

namespace dtnn {
namespace {

template <typename T>
void AppendValues(const Tensor& tensor, std::string& json) {
  const T* const values = tensor.data<T>();
  char text[32];
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    if (i > 0) json += ", ";
    json.append(text, std::to_chars(text, text + sizeof(text), values[i]).ptr);
  }
}

}  // namespace

absl::StatusOr<AnswerForm> AnswerForm::Of(const InferRequest& request) {
  AnswerForm form = {.id = request.id, .binary = request.binary_outputs};
  if (request.outputs.size() > 1) {
    return InvalidArgument("the request wants ", request.outputs.size(),
                           " outputs; the model has one, \"", kOutputName, "\"");
  }
  for (const InferOutput& output : request.outputs) {
    if (output.name != kOutputName) {
      return InvalidArgument("outputs[0]: name ", Quoted(output.name), "; the model's output is \"",
                             kOutputName, "\"");
    }
    form.binary = output.binary.value_or(form.binary);
  }
  return form;
}

absl::StatusOr<InferAnswer> FormatInferAnswer(const AnswerForm& form, std::string_view model,
                                              int64_t version, const Tensor& outputs) {
  std::string json =
      StrCat("{\"model_name\": ", JsonText(model), ", \"model_version\": \"", version, "\"");
  if (form.id) json += StrCat(", \"id\": ", JsonText(*form.id));
  const Shape& shape = outputs.shape();
  json += StrCat(", \"outputs\": [{\"name\": \"", kOutputName, "\", \"datatype\": \"",
                 DatatypeOf(outputs.dtype()), "\", \"shape\": ", ShapeJson(shape.extents()));
  const size_t bytes = size_t(outputs.num_elements()) * SizeOf(outputs.dtype());
  if (form.binary) json += StrCat(", \"parameters\": {\"binary_data_size\": ", bytes, "}}]}");
  const size_t json_bytes = json.size();
  DTNN_RETURN_IF_ERROR(DispatchFloating(outputs.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* const values = outputs.data<T>();
    const int64_t row = outputs.num_elements() / shape[0];
    for (int64_t i = 0; i < outputs.num_elements(); ++i) {
      if (std::isfinite(values[i])) continue;
      return InvalidArgument("the network's output for sample ", i / row,
                             " is NaN or infinite; are its values those that the network was "
                             "trained on?");
    }
    if (!form.binary) {
      json += ", \"data\": [";
      AppendValues<T>(outputs, json);
      json += "]}]}\n";
    }
    return absl::OkStatus();
  }));
  if (!form.binary) return InferAnswer{.body = std::move(json)};
  json.append(reinterpret_cast<const char*>(outputs.raw_data()), bytes);
  return InferAnswer{.body = std::move(json), .json_bytes = json_bytes};
}

}  // namespace dtnn
