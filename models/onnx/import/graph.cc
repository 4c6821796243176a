#include "models/onnx/import/graph.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "layers/flatten.h"
#include "layers/input.h"
#include "models/graph/graph.h"
#include "models/onnx/file/onnx_types.h"
#include "models/onnx/import/operators.h"
#include "tensor/errors.h"
#include "tensor/machine/available_memory.h"

namespace dtnn {
namespace {

// Beside what was read: parameters as they are collected, in one order, and in the other.
constexpr int64_t kCopies = 3;

class GraphImporter {
 public:
  GraphImporter(const onnx::GraphProto& graph, ImportState& state) : graph_(graph), state_(state) {}

  absl::StatusOr<ImportedValue> Run(const std::optional<ImageExtents>& sample,
                                    const std::string& wanted) {
    DTNN_RETURN_IF_ERROR(ListMakers());
    DTNN_RETURN_IF_ERROR(FindOutput(wanted));
    FindNeeded();
    DTNN_RETURN_IF_ERROR(AddInput(sample));
    for (int i = 0; i < graph_.node_size(); ++i) {
      if (!needed_.contains(i)) continue;
      const onnx::NodeProto& node = graph_.node(i);
      DTNN_RETURN_IF_ERROR(WithContext(AddNode(node), "node ", i, " (", Quoted(node.name()),
                                       ", operator ", Quoted(node.op_type()), ")"));
      DTNN_RETURN_IF_ERROR(CheckMemory());
    }
    return Output();
  }

 private:
  absl::Status Define(const std::string& name) {
    if (defined_.insert(name).second) return absl::OkStatus();
    return InvalidArgument("the name ", Quoted(name), " stands for two values");
  }

  absl::Status ListMakers() {
    if (graph_.node_size() > Graph::kMostNodes) {
      return InvalidArgument("has ", graph_.node_size(), " nodes, more than ", Graph::kMostNodes);
    }
    for (const onnx::TensorProto& tensor : graph_.initializer()) {
      DTNN_RETURN_IF_ERROR(Define(tensor.name()));
      state_.values.insert_or_assign(tensor.name(), &tensor);
    }
    for (const onnx::ValueInfoProto& value : graph_.input()) {
      if (state_.values.contains(value.name())) continue;  // older files list initializers too
      DTNN_RETURN_IF_ERROR(Define(value.name()));
      inputs_.push_back(&value);
    }
    for (int i = 0; i < graph_.node_size(); ++i) {
      for (const std::string& output : graph_.node(i).output()) {
        if (output.empty()) continue;
        DTNN_RETURN_IF_ERROR(Define(output));
        makers_[output] = i;
      }
    }
    return absl::OkStatus();
  }

  absl::Status FindOutput(const std::string& wanted) {
    std::vector<std::string> names;
    for (const onnx::ValueInfoProto& value : graph_.output()) {
      names.push_back(Quoted(value.name()));
      if (value.name() == wanted || (wanted.empty() && graph_.output_size() == 1)) {
        state_.output = value.name();
      }
    }
    if (!state_.output.empty()) return absl::OkStatus();
    std::string list;
    for (const std::string& name : names) StrAppend(&list, list.empty() ? "" : ", ", name);
    if (wanted.empty()) {
      return InvalidArgument("has ", names.size(), " outputs (", list,
                             "); name the one that the network is to have");
    }
    return InvalidArgument("has no output ", Quoted(wanted), "; its outputs are ", list);
  }

  // The nodes on which the output depends, and how often each value is read by these.
  void FindNeeded() {
    std::vector<std::string> open = {state_.output};
    ++state_.uses[state_.output];
    while (!open.empty()) {
      const auto maker = makers_.find(open.back());
      open.pop_back();
      if (maker == makers_.end() || !needed_.insert(maker->second).second) continue;
      for (const std::string& input : graph_.node(maker->second).input()) {
        if (input.empty()) continue;
        ++state_.uses[input];
        open.push_back(input);
      }
    }
  }

  // Whether images come with channels last: all that is done with them first is to transpose them.
  bool InputIsChannelsLast(const std::string& name) const {
    bool transposed = false;
    for (const int index : needed_) {
      const onnx::NodeProto& node = graph_.node(index);
      if (std::ranges::find(node.input(), name) == node.input().end()) continue;
      if (node.op_type() != "Transpose" || node.attribute_size() != 1) return false;
      const auto& order = node.attribute(0).ints();
      const std::vector<int64_t> expected = {0, 3, 1, 2};
      if (!std::ranges::equal(order, expected)) return false;
      transposed = true;
    }
    return transposed;
  }

  absl::Status AddInput(const std::optional<ImageExtents>& sample) {
    std::erase_if(inputs_, [&](const auto* value) { return !state_.uses.contains(value->name()); });
    if (inputs_.size() != 1) {
      return Unimplemented("the output depends on ", inputs_.size(), " inputs; a network has one");
    }
    const onnx::ValueInfoProto& value = *inputs_[0];
    return WithContext(AddInput(value, sample), "input ", Quoted(value.name()));
  }

  absl::Status AddInput(const onnx::ValueInfoProto& value,
                        const std::optional<ImageExtents>& sample) {
    const onnx::TypeProto::Tensor& type = value.type().tensor_type();
    if (type.elem_type() != int32_t(OnnxType::kFloat32)) {
      return Unimplemented("has elements of type ", Name(OnnxType(type.elem_type())),
                           "; networks take float, so export the network in float32");
    }
    const int rank = type.shape().dim_size();
    if (rank != 4 && rank != 2 && !(rank == 0 && sample)) {
      return Unimplemented("has ", rank,
                           " axes; networks take images (N, channels, height, "
                           "width), or features (N, features)");
    }
    const bool last = rank == 4 && InputIsChannelsLast(value.name());
    ImageExtents extents = sample.value_or(ImageExtents{1, 1, 1});
    const auto read = [&](int axis, int64_t& extent) -> absl::Status {
      const onnx::TensorShapeProto::Dimension& dim = type.shape().dim(axis);
      if (!dim.has_dim_value() || dim.dim_value() == 0) {
        if (sample) return absl::OkStatus();
        return InvalidArgument("does not tell its extent along axis ", axis, " (",
                               Quoted(dim.dim_param()), "); give the size of a sample");
      }
      if (dim.dim_value() < 0) {
        return InvalidArgument("has ", dim.dim_value(), " elements along axis ", axis);
      }
      if (sample && extent != dim.dim_value()) {
        return InvalidArgument("has ", dim.dim_value(), " elements along axis ", axis,
                               ", but the input shape that was given has ", extent,
                               " there, of channels,height,width = ", sample->channels, ",",
                               sample->height, ",", sample->width);
      }
      extent = dim.dim_value();
      return absl::OkStatus();
    };
    if (rank >= 2) {
      state_.batch = std::max<int64_t>(0, type.shape().dim(0).dim_value());
      DTNN_RETURN_IF_ERROR(read(last ? 3 : 1, extents.channels));
    }
    if (rank == 4) {
      DTNN_RETURN_IF_ERROR(read(last ? 1 : 2, extents.height));
      DTNN_RETURN_IF_ERROR(read(last ? 2 : 3, extents.width));
    }
    DTNN_ASSIGN_OR_RETURN(
        ImportedValue input,
        state_.network.Add(std::make_shared<InputLayer>(extents), {}, {}, "0_Input"));
    input.channels_last = last;
    if (rank == 2) {
      DTNN_ASSIGN_OR_RETURN(input, state_.network.Add(std::make_shared<FlattenLayer>(),
                                                      std::span(&input, 1), {}, "1_Flatten"));
    }
    state_.values.insert_or_assign(value.name(), input);
    CountReaders(value.name(), state_.uses[value.name()]);
    return absl::OkStatus();
  }

  absl::Status AddNode(const onnx::NodeProto& node) {
    if (!node.domain().empty() && node.domain() != "ai.onnx") {
      return Unimplemented("is of the domain ", Quoted(node.domain()),
                           "; only operators of ONNX "
                           "itself are read");
    }
    for (const std::string& input : node.input()) {
      if (input.empty() || state_.values.contains(input)) continue;
      return InvalidArgument("reads ", Quoted(input), ", which no node before it makes");
    }
    const ImportedValue* const value = UnderOtherAxes(node);
    const Inputs inputs = value == nullptr ? Inputs::kPlain : Inputs::kUnderAxes;
    const ImportOperator import_operator = FindImport(node.op_type(), inputs);
    if (import_operator == nullptr && value != nullptr) {
      return Unimplemented("reads an image under the axes ", ToText(value->axes),
                           "; the operators that are read of such are ", ImportedOperators(inputs));
    }
    if (import_operator == nullptr) {
      return Unimplemented("no layer computes it; the operators that are read are ",
                           ImportedOperators(inputs));
    }
    if (node.output_size() == 0 || node.output(0).empty()) {
      return InvalidArgument("has no output");
    }
    OperatorReader reader(node, state_);
    for (const std::string& input : node.input()) CountReaders(input, -1);
    DTNN_RETURN_IF_ERROR(reader.Finish(import_operator(reader)));
    for (const std::string& output : node.output()) CountReaders(output, state_.uses[output]);
    return absl::OkStatus();
  }

  // An input that is an image which the node sees under other axes; null: none.
  const ImportedValue* UnderOtherAxes(const onnx::NodeProto& node) const {
    for (const std::string& input : node.input()) {
      const auto found = state_.values.find(input);
      if (found == state_.values.end()) continue;
      const auto* value = std::get_if<ImportedValue>(&found->second);
      if (value != nullptr && !value->axes.empty()) return value;
    }
    return nullptr;
  }

  // Adds to the readers to come of the node of the network that has the value as its output.
  void CountReaders(const std::string& name, int count) {
    const auto found = state_.values.find(name);
    if (found == state_.values.end()) return;
    const auto* value = std::get_if<ImportedValue>(&found->second);
    if (value != nullptr) state_.readers[value->node] += count;
  }

  absl::Status CheckMemory() const {
    constexpr int64_t kFew = 1 << 26;
    const int64_t needed =
        kCopies * state_.network.elements() * int64_t(sizeof(float)) + state_.constant_bytes;
    if (needed <= kFew) return absl::OkStatus();
    const AvailableMemory available = FindAvailableMemory();
    if (needed <= available.bytes) return absl::OkStatus();
    return ResourceExhausted("its parameters and constants need ", needed / 1000000, " MB, but ",
                             available.of, " has ", available.bytes / 1000000, " MB left");
  }

  absl::StatusOr<ImportedValue> Output() const {
    const auto found = state_.values.find(state_.output);
    if (found == state_.values.end()) {
      return InvalidArgument("its output ", Quoted(state_.output), " is not what a node makes");
    }
    const auto* value = std::get_if<ImportedValue>(&found->second);
    if (value == nullptr) return InvalidArgument("its output is a constant");
    if (!value->plain() || value->rows_first || !state_.network.IsLatest(*value)) {
      return Unimplemented("its output ", Quoted(state_.output),
                           " is only a part of a layer, or features that were flattened with "
                           "channels last");
    }
    return *value;
  }

  const onnx::GraphProto& graph_;
  ImportState& state_;
  std::set<std::string, std::less<>> defined_;
  std::vector<const onnx::ValueInfoProto*> inputs_;
  std::map<std::string, int, std::less<>> makers_;  // of values: indices of nodes
  std::set<int> needed_;
};

}  // namespace

absl::StatusOr<ImportedValue> ImportGraph(const onnx::GraphProto& graph,
                                          const std::optional<ImageExtents>& sample,
                                          const std::string& output, ImportState& state) {
  return GraphImporter(graph, state).Run(sample, output);
}

}  // namespace dtnn
