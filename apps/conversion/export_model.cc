#include "apps/conversion/export_model.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "apps/conversion/initial_seed.h"
#include "apps/program/other_file.h"
#include "kernels/device/context.h"
#include "models/graph/table.h"
#include "models/onnx/export/export.h"
#include "models/onnx/file/onnx_file.h"
#include "models/parameters/parameter_store.h"
#include "models/serving/saved_model.h"
#include "models/serving/saved_parameters.h"
#include "models/zoo/zoo.h"
#include "tensor/errors.h"
#include "tensor/files/array_file.h"
#include "tensor/text/nearest.h"
#include "tensor/text/one_line.h"

namespace dtnn {
namespace {

struct Loaded {
  SavedModel model;
  std::unique_ptr<ParameterStore> store;
};

absl::StatusOr<Loaded> LoadFile(const std::string& path, DeviceContext& host) {
  absl::StatusOr<ArrayFileReader> file = ArrayFileReader::Open(path);
  absl::StatusOr<SavedModel> model = file.ok() ? ReadModel(*file) : file.status();
  if (!model.ok()) {
    return NameOtherFile(model.status(), path, "export", "a trained model (.npz, .safetensors)");
  }
  Loaded loaded = {.model = *std::move(model), .store = nullptr};
  DTNN_ASSIGN_OR_RETURN(SavedParameters read, ReadParameters(*file, loaded.model, host));
  loaded.store = std::move(read.store);
  return loaded;
}

absl::StatusOr<Loaded> MakeNetwork(const std::string& name, DeviceContext& host) {
  std::vector<std::string_view> names;
  for (const ModelInfo& known : ZooModels()) names.push_back(known.name);
  if (std::ranges::count(names, name) == 0) {
    return NotFound(OneLine(name, 80),
                    ": is neither a trained model (.npz, .safetensors) nor the name of a network",
                    DidYouMean(name, names), " (benchmark --model=list shows all)");
  }
  Loaded made;
  DTNN_ASSIGN_OR_RETURN(made.model.graph, BuildModel(name, {}));
  DTNN_ASSIGN_OR_RETURN(
      made.store, ParameterStore::Create(made.model.graph, host, made.model.dtype, InitialSeed()));
  return made;
}

bool IsFile(const std::string& model) {
  std::error_code ignored;
  return CheckArrayFileName(model).ok() || model.find('/') != std::string::npos ||
         std::filesystem::exists(model, ignored);
}

}  // namespace

std::vector<OptionSpec> OptionsOf(ExportFlags& options) {
  using enum OptionType;
  return {
      {.name = "tensor-format",
       .type = kWord,
       .help = "order of the axes of the images that the exported model takes",
       .words = "NCHW,NHWC",
       .field = &options.format},
      {.name = "math-mode",
       .type = kWord,
       .help = "fp32, or int8 for a model that quantize has prepared: QuantizeLinear and "
               "DequantizeLinear around the layers that compute in 8 bits",
       .words = "fp32,int8",
       .field = &options.math_mode},
  };
}

absl::Status ExportToOnnx(const ExportFlags& flags, std::ostream& out) {
  DTNN_RETURN_IF_ERROR(CheckOnnxOutput(flags.out));
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<DeviceContext> host,
                        DeviceContext::Create(Device::Cpu()));
  const bool file = IsFile(flags.model);
  DTNN_ASSIGN_OR_RETURN(const Loaded loaded,
                        file ? LoadFile(flags.model, *host) : MakeNetwork(flags.model, *host));
  if (!file) out << flags.model << ": a network of the zoo, with initial weights\n";
  if (loaded.model.dtype != DType::kFloat32) {
    out << "The parameters are rounded to float32.\n";
  }
  const ExportOptions options = {.format = *ParseTensorFormat(flags.format),
                                 .int8 = flags.math_mode == "int8"};
  DTNN_ASSIGN_OR_RETURN(
      onnx::ModelProto model,
      WithContext(ExportModel(loaded.model, *loaded.store, *host, options), flags.model));
  const size_t bytes = model.ByteSizeLong();
  const int nodes = model.graph().node_size();
  DTNN_RETURN_IF_ERROR(WriteOnnx(flags.out, std::move(model)));
  out << flags.out << ": " << nodes << " nodes, " << FormatBytes(double(bytes)) << ", images in "
      << flags.format << "\n";
  if (bytes > size_t(kMostOnnxBytes)) {
    out << "Its weights are in " << flags.out << kOnnxDataEnding
        << ", as an ONNX file holds less than 2 GB: move both together.\n";
  }
  return absl::OkStatus();
}

}  // namespace dtnn
