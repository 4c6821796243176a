#include "models/onnx/export/export.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "data/normalize.h"
#include "models/onnx/export/graph_writer.h"
#include "models/onnx/export/layers.h"
#include "models/onnx/file/onnx_types.h"
#include "models/parameters/in_format.h"
#include "models/plan/fusion.h"
#include "models/plan/int8_types.h"
#include "tensor/errors.h"
#include "tensor/text/version.h"

namespace dtnn {
namespace {

constexpr int64_t kIrVersion = 8, kOpset = 17;

void SetValue(onnx::ValueInfoProto& value, std::string_view name, const Shape& sample) {
  value.set_name(std::string(name));
  onnx::TypeProto::Tensor& tensor = *value.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(int32_t(OnnxType::kFloat32));
  tensor.mutable_shape()->add_dim()->set_dim_param("N");
  for (const int64_t extent : sample.extents()) {
    tensor.mutable_shape()->add_dim()->set_dim_value(extent);
  }
}

// The shape of a value of a graph in NCHW, where images are in `format`.
Shape InFormatOf(TensorFormat format, const Shape& sample) {
  if (sample.rank() != 3) return sample;
  return SampleShape(ExtentsOf(sample, TensorFormat::kNCHW), format);
}

class ModelExporter {
 public:
  ModelExporter(const SavedModel& model, const ExportOptions& options)
      : model_(model), options_(options), writer_(*proto_.mutable_graph()) {}

  absl::StatusOr<onnx::ModelProto> Export(const ParameterStore& store, DeviceContext& host) {
    if (OutputHasFormat(model_.graph) && model_.graph.output_shape().rank() == 1 &&
        model_.graph.format() != TensorFormat::kNCHW) {
      return Unimplemented("the network's outputs are the elements of an image in the order of ",
                           Name(model_.graph.format()),
                           "; only networks of NCHW images can be exported with such outputs");
    }
    DTNN_ASSIGN_OR_RETURN(
        made_, InFormat(model_.graph, store, host, TensorFormat::kNCHW, DType::kFloat32));
    DTNN_RETURN_IF_ERROR(ChooseBytes());
    proto_.set_ir_version(kIrVersion);
    proto_.set_producer_name("DTNN");
    proto_.set_producer_version(std::string(Version()));
    proto_.add_opset_import()->set_version(kOpset);
    AddMetadata();
    onnx::GraphProto& graph = *proto_.mutable_graph();
    graph.set_name(made_.graph.name());
    SetValue(*graph.add_input(), writer_.NewName("input"),
             InFormatOf(options_.format, made_.graph.input_shape()));
    SetValue(*graph.add_output(), writer_.NewName("output"),
             InFormatOf(options_.format, made_.graph.output_shape()));
    DTNN_RETURN_IF_ERROR(AddLayers());
    return std::move(proto_);
  }

 private:
  absl::Status ChooseBytes() {
    types_.values.resize(made_.graph.nodes().size());
    types_.products.resize(made_.graph.nodes().size());
    if (!options_.int8) return absl::OkStatus();
    if (!model_.quantization) {
      return FailedPrecondition(
          "has no ranges of values, which 8 bits need; the program quantize finds them");
    }
    DTNN_RETURN_IF_ERROR(model_.quantization->CheckInput(model_.graph, model_.preprocessing));
    const std::vector<Fusion> fusions =
        FindFusions(model_.graph, model_.description.fusions, /*additions=*/true);
    DTNN_ASSIGN_OR_RETURN(types_,
                          ChooseInt8Types(model_.graph, fusions, model_.quantization->choice()));
    // Only what an op writes is rounded, not what its layers hand to each other.
    for (const Fusion& fusion : fusions) {
      const int parts[] = {fusion.layer, fusion.normalization, fusion.addition, fusion.relu};
      const int last = *std::ranges::max_element(parts);
      for (const int part : parts) {
        if (part >= 0 && part != last) types_.values[size_t(part)].reset();
      }
    }
    return absl::OkStatus();
  }

  void AddText(std::string_view key, std::string value) {
    onnx::StringStringEntryProto& entry = *proto_.add_metadata_props();
    entry.set_key(std::string(key));
    entry.set_value(std::move(value));
  }

  void AddMetadata() {
    for (const auto& [key, text] : ModelTags(model_)) {
      if (key != kNetworkTag) AddText(key, text);
    }
    if (!model_.description.class_names.empty()) {
      AddText("classes", absl::StrJoin(model_.description.class_names, "\n"));
    }
    const Preprocessing& shown = model_.preprocessing;
    using Input = Preprocessing::Input;
    if (shown.input == Input::kValues) return;
    AddText("channel_order", shown.input == Input::kBytes ? "RGB" : "BGR");
    AddText("scale", shown.input == Input::kBgrBytes ? "1" : StrCat(1.0 / 255));
    const Normalization all = Then(shown.normalization, shown.then);
    if (!all.any()) return;
    std::vector<std::string> mean, deviation;
    for (const double offset : all.offset) mean.push_back(StrCat(0 - offset));
    for (const double scale : all.scale) deviation.push_back(StrCat(1 / scale));
    AddText("mean", absl::StrJoin(mean, ", "));
    AddText("std", absl::StrJoin(deviation, ", "));
  }

  absl::Status AddLayers() {
    const std::vector<Node>& nodes = made_.graph.nodes();
    values_.resize(nodes.size());
    values_[0] = "input";
    const std::vector<int64_t> to_nchw = {0, 3, 1, 2}, to_nhwc = {0, 2, 3, 1};
    const bool transposes = options_.format == TensorFormat::kNHWC;
    if (transposes) {
      values_[0] = writer_.NewName("input_nchw");
      writer_.AddNode("Transpose", "input/Transpose", {"input"}, values_[0]).Ints("perm", to_nchw);
    }
    const bool transposes_output = transposes && nodes.back().output.rank() == 3;
    for (size_t i = 0; i < nodes.size(); ++i) {
      const bool last = i + 1 == nodes.size();
      if (i > 0) {
        values_[i] = last && !transposes_output && !types_.values[i]
                         ? "output"
                         : writer_.NewName(nodes[i].name);
        DTNN_RETURN_IF_ERROR(WithContext(AddLayer(i), "layer ", nodes[i].id, " (",
                                         nodes[i].layer->type_name(), ")"));
      }
      if (types_.values[i]) values_[i] = writer_.AddQuantization(values_[i], *types_.values[i]);
    }
    if (transposes_output) {
      writer_.AddNode("Transpose", "output/Transpose", {values_.back()}, "output")
          .Ints("perm", to_nhwc);
    } else if (values_.back() != "output") {
      writer_.AddNode("Identity", "output/Identity", {values_.back()}, "output");
    }
    return absl::OkStatus();
  }

  absl::Status AddLayer(size_t index) {
    const Node& node = made_.graph.nodes()[index];
    const ExportLayer export_layer = FindExport(node.layer->type_name());
    if (export_layer == nullptr) {
      return Unimplemented("has no form in ONNX that this program knows");
    }
    const Attributes attributes = node.layer->attributes();
    AttributeReader read(attributes);
    LayerToExport layer = {.node = node,
                           .read = read,
                           .output = values_[index],
                           .in_bytes = types_.products[index] != 0};
    for (const int input : node.inputs) layer.inputs.push_back(values_[size_t(input)]);
    for (size_t p = 0; p < node.parameters.size(); ++p) {
      layer.parameters.push_back(made_.store->Value(int(index), int(p)));
    }
    return export_layer(layer, writer_);
  }

  const SavedModel& model_;
  const ExportOptions& options_;
  onnx::ModelProto proto_;
  GraphWriter writer_;
  NetworkInFormat made_;
  Int8Types types_;
  std::vector<std::string> values_;  // of each node: the name of what stands for its output
};

}  // namespace

absl::StatusOr<onnx::ModelProto> ExportModel(const SavedModel& model, const ParameterStore& store,
                                             DeviceContext& host, const ExportOptions& options) {
  return ModelExporter(model, options).Export(store, host);
}

}  // namespace dtnn
