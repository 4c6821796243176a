#include "models/serving/protocol/model_metadata.h"

#include <vector>

#include "tensor/errors.h"
#include "tensor/text/json_text.h"

namespace dtnn {
namespace {

std::string_view KindName(OutputKind kind) {
  switch (kind) {
    case OutputKind::kClasses:
      return "probabilities of classes";
    case OutputKind::kLabels:
      return "probabilities of labels";
    case OutputKind::kValues:
      return "values";
  }
  return "";
}

// The extents of any number of them, which the protocol writes as -1.
std::vector<int64_t> AnyNumberOf(const Shape& sample) {
  std::vector<int64_t> extents = {-1};
  extents.insert(extents.end(), sample.extents().begin(), sample.extents().end());
  return extents;
}

}  // namespace

SampleRules RulesOf(const Predictor& predictor, int64_t max_samples) {
  const Graph& graph = predictor.model().graph;
  const absl::StatusOr<const ImageInput*> images = predictor.images();
  return {.sample = graph.input_shape(),
          .dtype = predictor.model().dtype,
          .format = graph.format(),
          .images = images.ok() ? *images : nullptr,
          .max_samples = max_samples};
}

std::string ModelMetadata(std::string_view model, int64_t version, const Predictor& predictor) {
  const Graph& graph = predictor.model().graph;
  const std::string_view datatype = DatatypeOf(predictor.model().dtype);
  std::string classes;
  for (const std::string& name : predictor.model().description.class_names) {
    classes += StrCat(classes.empty() ? "" : ", ", JsonText(name));
  }
  return StrCat("{\"name\": ", JsonText(model), ", \"versions\": [\"", version,
                "\"], \"platform\": \"dtnn\", \"inputs\": [{\"name\": \"", kInputName,
                "\", \"datatype\": \"", datatype,
                "\", \"shape\": ", ShapeJson(AnyNumberOf(graph.input_shape())),
                "}], \"outputs\": [{\"name\": \"", kOutputName, "\", \"datatype\": \"", datatype,
                "\", \"shape\": ", ShapeJson(AnyNumberOf(graph.output_shape())),
                "}], \"parameters\": {\"network\": ", JsonText(graph.name()), ", \"format\": \"",
                Name(graph.format()), "\", \"outputs_are\": \"", KindName(predictor.output_kind()),
                "\", \"takes_images\": ", predictor.images().ok() ? "true" : "false",
                ", \"classes\": [", classes, "]}}\n");
}

}  // namespace dtnn
