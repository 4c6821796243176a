// A node of an ONNX graph, as the functions of operators.h read it: attributes, inputs that
// the network computes, inputs that are constants; and what they make of it.
//
// Every attribute must be asked for: one that this program does not know could change what the
// operator computes. The first mistake in an attribute is kept and returned by Finish.

#ifndef DTNN_MODELS_ONNX_IMPORT_OPERATOR_READER_H_
#define DTNN_MODELS_ONNX_IMPORT_OPERATOR_READER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/normalize.h"
#include "kernels/operands/pair.h"
#include "layers/base/layer.h"
#include "models/onnx/file/external_data.h"
#include "models/onnx/file/onnx.pb.h"
#include "models/onnx/file/tensor_values.h"
#include "models/onnx/import/network_maker.h"
#include "models/onnx/shapes/axes.h"
#include "models/onnx/shapes/numbers.h"
#include "models/plan/int8_types.h"

namespace dtnn {

// Real numbers that each sample of a batch has, as a class token: the first axis is the batch.
struct ForEachSample {
  TensorValues values;
};

// What is known so far, by the names of values.
struct ImportState {
  using Known = std::variant<ImportedValue, std::shared_ptr<const TensorValues>,
                             std::shared_ptr<const WholeNumbers>,
                             std::shared_ptr<const ForEachSample>, const onnx::TensorProto*>;

  NetworkMaker network;
  ExternalData external;
  std::map<std::string, Known, std::less<>> values = {};
  std::map<std::string, int, std::less<>> uses = {};  // readers of each value
  // By nodes of the network: readers to come of their outputs, under whichever names.
  std::map<int, int> readers = {};
  std::string output = {};     // the name of what the network computes
  int64_t constant_bytes = 0;  // of the constants that nodes made
  int64_t opset = 0;
  int64_t batch = 0;  // samples, where the input has a number of these; 0: any
  // By nodes of the network: of their outputs; layers whose weights the file has in 8 bits.
  std::map<int, ValueRange> ranges = {};
  std::set<int> products_of_bytes = {};
  bool foreign_ranges = false;          // some of `ranges` are not of ExportModel
  std::vector<std::string> notes = {};  // for people (import.h)
  bool of_our_own = false;              // ExportModel made the file: each operator is a layer
  // The latest normalisation of groups, by node, while its gamma is still 1, and while its beta is
  // still 0, which those of a Mul and an Add after it may be.
  int awaits_gamma = -1, awaits_beta = -1;
  Normalization normalization = {};  // with which the network begins, left to the preprocessing
};

// The number that was meant by a float of a file: of those that are rounded to it, the one with the
// fewest digits. 1e-5 is not 9.99999974737875163555e-06.
double ShortestReal(float value);

class OperatorReader {
 public:
  OperatorReader(const onnx::NodeProto& node, ImportState& state) : node_(node), state_(state) {}

  std::string_view type() const { return node_.op_type(); }
  const std::string& name() const { return node_.name(); }
  NetworkMaker& network() { return state_.network; }

  // Attributes.
  bool HasAttribute(std::string_view name) const;
  int64_t Int(std::string_view name, int64_t otherwise);
  double Real(std::string_view name, double otherwise);
  std::string Text(std::string_view name, std::string_view otherwise);
  std::vector<int64_t> Ints(std::string_view name, std::vector<int64_t> otherwise);
  Pair TwoInts(std::string_view name, const Pair& otherwise);
  absl::StatusOr<TensorValues> Tensor(std::string_view name);
  // `status` of the function that read the node, or what was wrong with an attribute.
  absl::Status Finish(const absl::Status& status);

  // Inputs. An input that is left out, has the empty name.
  size_t num_inputs() const { return size_t(node_.input_size()); }
  bool Has(size_t input) const;
  bool IsConstant(size_t input) const;  // or numbers that follow from those of samples alone
  absl::StatusOr<TensorValues> Constant(size_t input);
  // The integers of a constant, which is one of them or a list.
  absl::StatusOr<std::vector<int64_t>> Integers(size_t input);
  // A constant, or numbers that differ from sample to sample.
  absl::StatusOr<WholeNumbers> Numbers(size_t input);
  // Numbers that are the same for each sample, whose axis has extent 1; in a file of one sample any
  // constant is.
  absl::StatusOr<TensorValues> ConstantOfEachSample(size_t input);
  // The real numbers of a vector: of (count), or of axes of one element before it.
  absl::StatusOr<std::vector<float>> Vector(size_t input, int64_t count);
  absl::StatusOr<ImportedValue> Value(size_t input);     // complete
  absl::StatusOr<ImportedValue> RawValue(size_t input);  // perhaps with pads, or unfinished
  absl::StatusOr<ImportedValue> Image(size_t input);     // (c, h, w)
  absl::StatusOr<ImportedValue> PaddedImage(size_t input);
  absl::StatusOr<ImportedValue> Features(size_t input);
  // From now on images that are seen under other axes are complete too: for operators to which
  // axes do not matter.
  void TakeAnyAxes() { any_axes_ = true; }
  // Gives the output what is known of an input: a constant is shared, not copied.
  void ForwardInput(size_t input) { SetKnown(*Known(input)); }
  // Whether no node after this one reads the input, under any of its names. Layers that are in the
  // network may read it all the same.
  bool IsLastReader(size_t input) const;
  // The same of what a layer makes.
  bool IsReadLater(const ImportedValue& value) const { return state_.readers[value.node] != 0; }

  // Samples of a file that has a number of these; 0: any.
  int64_t batch() const { return state_.batch; }
  bool OfOurOwn() const { return state_.of_our_own; }
  // The axis of a softmax that names none.
  int64_t SoftmaxAxis() const { return state_.opset < 13 ? 1 : -1; }
  // Whether a softmax takes all axes from its own on as one.
  bool SoftmaxFlattens() const { return state_.opset < 13; }

  // Outputs.
  size_t num_outputs() const { return size_t(node_.output_size()); }
  void SetOutput(const ImportedValue& value, size_t output = 0) { SetKnown(value, output); }
  void SetRange(const ImportedValue& value, const ValueRange& range, bool of_our_export) {
    state_.ranges[value.node] = range;
    state_.foreign_ranges = state_.foreign_ranges || !of_our_export;
  }
  void SetOutput(TensorValues values);
  void SetOutput(WholeNumbers numbers);
  void SetOutput(ForEachSample constant);
  // Takes the latest layer, which has one input, away: what it read.
  ImportedValue DropLatest();
  absl::StatusOr<ImportedValue> Output() const;  // as it was set
  bool OutputIsUsed(size_t output) const;
  // Whether its output is the network's, and nothing else reads it.
  bool MakesTheOutput() const;
  // Leaves a step to the preprocessing, after those before it.
  void Normalize(const Normalization& by) { state_.normalization = Then(state_.normalization, by); }
  int& awaits_gamma() { return state_.awaits_gamma; }
  int& awaits_beta() { return state_.awaits_beta; }
  void AddNote(std::string note) { state_.notes.push_back(std::move(note)); }
  // Adds a layer, named after the weights that are input `weights`, or else after this node; its
  // output is the node's.
  absl::Status AddLayer(std::shared_ptr<const Layer> layer, std::span<const ImportedValue> inputs,
                        NetworkMaker::Parameters parameters = {}, int weights = -1);
  absl::Status AddLayer(std::shared_ptr<const Layer> layer, const ImportedValue& input,
                        NetworkMaker::Parameters parameters = {}, int weights = -1) {
    return AddLayer(std::move(layer), std::span(&input, 1), std::move(parameters), weights);
  }

 private:
  const onnx::AttributeProto* Find(std::string_view name);
  void Fail(std::string_view name, std::string_view mistake);
  const ImportState::Known* Known(size_t input) const;
  void SetKnown(ImportState::Known known, size_t output = 0);
  std::string LayerName(int weights) const;
  // An input with its pads, as a layer, from here on: operators that take none in read it.
  absl::Status CheckView(size_t input, const ImportedValue& value) const;
  absl::StatusOr<ImportedValue> Enlarged(size_t input, const ImportedValue& value);

  const onnx::NodeProto& node_;
  ImportState& state_;
  std::set<std::string, std::less<>> asked_;
  absl::Status status_;
  bool any_axes_ = false;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_ONNX_IMPORT_OPERATOR_READER_H_
