#include "apps/conversion/import_model.h"

#include <memory>
#include <optional>
#include <utility>

#include "apps/conversion/import_weights.h"
#include "apps/program/image_flags.h"
#include "apps/program/image_paths.h"
#include "apps/program/other_file.h"
#include "comm/ranks/job/exit_code.h"
#include "data/check_offsets.h"
#include "data/normalize.h"
#include "kernels/device/context.h"
#include "models/graph/table.h"
#include "models/onnx/file/onnx_file.h"
#include "models/onnx/import/import.h"
#include "models/parameters/weights.h"
#include "models/serving/saved_model.h"
#include "tensor/errors.h"
#include "tensor/text/version.h"

namespace dtnn {
namespace {

// (x - mean) / std of byte / 255, after what the file itself says.
absl::Status AddNormalization(const ImportFlags& flags, SavedModel& model) {
  if (flags.mean.empty() && flags.std.empty()) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(const Normalization added, NormalizationOf(flags.mean, flags.std));
  const int64_t channels = ExtentsOf(model.graph.input_shape(), model.graph.format()).channels;
  if (const absl::Status status = CheckNormalization(added, channels); !status.ok()) {
    return UsageError("--mean, --std: ", status.message());
  }
  if (const auto status = CheckOffsets(added, model.preprocessing); !status.ok()) {
    return UsageError("--mean: ", status.message());
  }
  AddNormalization(added, model.preprocessing);
  return absl::OkStatus();
}

void SetGeometry(const ImportFlags& flags, SavedModel& model) {
  if (!flags.square && flags.crop == 0) return;
  std::optional<ImageGeometry>& geometry = model.preprocessing.geometry;
  if (!geometry) {
    const ImageExtents sample = ExtentsOf(model.graph.input_shape(), model.graph.format());
    geometry.emplace();
    if (sample.height == sample.width) geometry->geometry.resize = sample.height;
  }
  ReplaceCrop(flags.square, flags.crop, *geometry);
}

absl::Status AddClassNames(const ImportFlags& flags, SavedModel& model) {
  if (flags.class_names.empty() && flags.names.empty()) return absl::OkStatus();
  std::vector<std::string>& names = model.description.class_names;
  names = flags.names;
  if (names.empty()) {
    DTNN_ASSIGN_OR_RETURN(names, WithContext(ReadClassNames(flags.class_names), "--class-names"));
  }
  const int64_t outputs = OutputsOf(model.graph);
  if (int64_t(names.size()) == outputs) return absl::OkStatus();
  return UsageError("--class-names: ", flags.class_names, flags.class_names.empty() ? "" : " ",
                    "names ", names.size(), " classes, but the network has ", outputs, " outputs");
}

absl::StatusOr<ImportedModel> ImportFromOnnx(const ImportFlags& flags, DeviceContext& host) {
  if (!flags.model.empty() || flags.weights_partial) {
    return UsageError("--model, --weights-partial: are for weights (.pth, .pt, .safetensors); ",
                      flags.in, " has a network of its own");
  }
  const absl::StatusOr<onnx::ModelProto> onnx = ReadOnnx(flags.in);
  if (!onnx.ok()) {
    return NameOtherFile(onnx.status(), flags.in, "import",
                         "an ONNX model (.onnx), or weights of PyTorch (.pth, .pt, .safetensors)");
  }
  return ImportModel(*onnx, flags.in, host,
                     {.format = *ParseTensorFormat(flags.format),
                      .sample = SampleOf(flags),
                      .output = flags.output,
                      .final_activation = ActivationOf(flags.final_activation)});
}

}  // namespace

absl::Status ImportModelFile(const ImportFlags& flags, std::ostream& out) {
  DTNN_RETURN_IF_ERROR(CheckWeightsOutput(flags.out));
  if (!flags.input_shape.empty() && flags.input_shape.size() != 3) {
    return UsageError("--input-shape: has ", flags.input_shape.size(),
                      " numbers; expected channels,height,width");
  }
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<DeviceContext> host,
                        DeviceContext::Create(Device::Cpu()));
  DTNN_ASSIGN_OR_RETURN(ImportedModel imported, IsWeights(flags.in) ? ImportWeights(flags, *host)
                                                                    : ImportFromOnnx(flags, *host));
  SavedModel& model = imported.model;
  // What the network itself does comes after what the options say.
  if (imported.normalization.any()) model.preprocessing.normalization = {};
  DTNN_RETURN_IF_ERROR(AddNormalization(flags, model));
  AddNormalization(imported.normalization, model.preprocessing);
  SetGeometry(flags, model);
  // Ranges of a file that says nothing of images are those of the values that come in.
  if (model.quantization && model.quantization->method == kRangesOfOnnx) {
    model.quantization->preprocessing = ToJson(model.preprocessing);
  }
  DTNN_RETURN_IF_ERROR(AddClassNames(flags, model));
  if (model.description.written_by.empty()) {
    model.description.written_by = StrCat("DTNN ", Version());
  }
  for (const std::string& note : imported.notes) out << note << "\n";
  DTNN_RETURN_IF_ERROR(SaveModel(flags.out, model, *imported.store, *host));
  out << flags.out << ":\n"
      << FormatSummary(model.graph, model.dtype) << "  images: " << Describe(model.preprocessing)
      << "\n";
  return absl::OkStatus();
}

}  // namespace dtnn
