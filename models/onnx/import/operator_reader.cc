#include "models/onnx/import/operator_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "layers/pad2d.h"
#include "tensor/errors.h"

namespace dtnn {

double ShortestReal(float value) {
  char digits[32];
  const auto written = std::to_chars(digits, digits + sizeof(digits), value);
  double read = double(value);  // of NaN and infinity
  if (std::isfinite(value)) std::from_chars(digits, written.ptr, read);
  return read;
}

const onnx::AttributeProto* OperatorReader::Find(std::string_view name) {
  asked_.emplace(name);
  for (const onnx::AttributeProto& attribute : node_.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

bool OperatorReader::HasAttribute(std::string_view name) const {
  return std::ranges::any_of(node_.attribute(),
                             [&](const auto& attribute) { return attribute.name() == name; });
}

void OperatorReader::Fail(std::string_view name, std::string_view mistake) {
  if (status_.ok()) status_ = InvalidArgument("its attribute ", Quoted(name), " ", mistake);
}

int64_t OperatorReader::Int(std::string_view name, int64_t otherwise) {
  const onnx::AttributeProto* attribute = Find(name);
  if (attribute == nullptr) return otherwise;
  if (!attribute->has_i()) Fail(name, "is not a whole number");
  return attribute->i();
}

double OperatorReader::Real(std::string_view name, double otherwise) {
  const onnx::AttributeProto* attribute = Find(name);
  if (attribute == nullptr) return otherwise;
  if (!attribute->has_f()) Fail(name, "is not a number");
  return ShortestReal(attribute->f());
}

std::string OperatorReader::Text(std::string_view name, std::string_view otherwise) {
  const onnx::AttributeProto* attribute = Find(name);
  if (attribute == nullptr) return std::string(otherwise);
  if (!attribute->has_s()) Fail(name, "is not a text");
  return attribute->s();
}

std::vector<int64_t> OperatorReader::Ints(std::string_view name, std::vector<int64_t> otherwise) {
  const onnx::AttributeProto* attribute = Find(name);
  if (attribute == nullptr) return otherwise;
  if (attribute->ints().empty()) Fail(name, "is not a list of whole numbers");
  return {attribute->ints().begin(), attribute->ints().end()};
}

Pair OperatorReader::TwoInts(std::string_view name, const Pair& otherwise) {
  const std::vector<int64_t> two = Ints(name, {otherwise.vertical, otherwise.horizontal});
  if (two.size() == 2) return {two[0], two[1]};
  Fail(name, StrCat("has ", two.size(), " numbers; images have 2 axes, height and width"));
  return otherwise;
}

absl::StatusOr<TensorValues> OperatorReader::Tensor(std::string_view name) {
  const onnx::AttributeProto* attribute = Find(name);
  if (attribute == nullptr || !attribute->has_t()) {
    return InvalidArgument("has no tensor as its attribute ", Quoted(name));
  }
  return WithContext(ReadTensor(attribute->t(), state_.external), "its attribute ", Quoted(name));
}

absl::Status OperatorReader::Finish(const absl::Status& status) {
  if (status_.ok() && !status.ok()) return status;
  for (const onnx::AttributeProto& attribute : node_.attribute()) {
    if (!asked_.contains(attribute.name())) {
      Fail(attribute.name(), "is not one that this program knows");
    }
  }
  return status_;
}

bool OperatorReader::Has(size_t input) const {
  return input < num_inputs() && !node_.input(int(input)).empty();
}

const ImportState::Known* OperatorReader::Known(size_t input) const {
  if (!Has(input)) return nullptr;
  const auto found = state_.values.find(node_.input(int(input)));
  return found == state_.values.end() ? nullptr : &found->second;
}

bool OperatorReader::IsConstant(size_t input) const {
  const ImportState::Known* known = Known(input);
  return known != nullptr && !std::holds_alternative<ImportedValue>(*known);
}

absl::StatusOr<TensorValues> OperatorReader::Constant(size_t input) {
  const ImportState::Known* known = Known(input);
  if (known == nullptr) return InvalidArgument("has no input ", input);
  const std::string name = Quoted(node_.input(int(input)));
  if (std::holds_alternative<std::shared_ptr<const WholeNumbers>>(*known)) {
    return Unimplemented("its input ", input, ", ", name,
                         ", has other numbers for each sample; only a Gather reads such, of the "
                         "elements of a sample");
  }
  if (std::holds_alternative<std::shared_ptr<const ForEachSample>>(*known)) {
    return Unimplemented(
        "its input ", input, ", ", name,
        ", is repeated for each sample; only a Concat reads such, as a class token "
        "before the pixels of an image");
  }
  if (const auto* values = std::get_if<std::shared_ptr<const TensorValues>>(known)) {
    return **values;
  }
  if (const auto* tensor = std::get_if<const onnx::TensorProto*>(known)) {
    return WithContext(ReadTensor(**tensor, state_.external), "its input ", name);
  }
  return Unimplemented("its input ", input, ", ", name,
                       ", is computed by the network; layers have constants there. Exporting the "
                       "model in evaluation mode, with constants folded, may help");
}

absl::StatusOr<std::vector<int64_t>> OperatorReader::Integers(size_t input) {
  DTNN_ASSIGN_OR_RETURN(const TensorValues values, Constant(input));
  if (!values.real() && values.dims.size() <= 1) return values.integers;
  return InvalidArgument("its input ", input, " is not a list of whole numbers");
}

absl::StatusOr<WholeNumbers> OperatorReader::Numbers(size_t input) {
  const ImportState::Known* known = Known(input);
  if (known != nullptr) {
    const auto* numbers = std::get_if<std::shared_ptr<const WholeNumbers>>(known);
    if (numbers != nullptr) return **numbers;
  }
  DTNN_ASSIGN_OR_RETURN(TensorValues values, Constant(input));
  return WholeNumbers{.first = std::move(values)};
}

absl::StatusOr<TensorValues> OperatorReader::ConstantOfEachSample(size_t input) {
  const ImportState::Known* known = Known(input);
  if (known != nullptr) {
    const auto* constant = std::get_if<std::shared_ptr<const ForEachSample>>(known);
    if (constant != nullptr) return (*constant)->values;
  }
  if (batch() == 1) return Constant(input);
  return Unimplemented("its input ", input, " is not repeated for each sample of the batch");
}

absl::StatusOr<std::vector<float>> OperatorReader::Vector(size_t input, int64_t count) {
  DTNN_ASSIGN_OR_RETURN(TensorValues values, Constant(input));
  if (!values.real()) return InvalidArgument("its input ", input, " has whole numbers");
  if (values.count() == count && (count == 1 || values.dims.back() == count)) {
    return std::move(values.reals);
  }
  return InvalidArgument("its input ", input, " has shape ", values.ShapeText(), "; expected ",
                         count, " elements");
}

absl::StatusOr<ImportedValue> OperatorReader::RawValue(size_t input) {
  const ImportState::Known* known = Known(input);
  if (known == nullptr) return InvalidArgument("has no input ", input);
  if (const auto* value = std::get_if<ImportedValue>(known)) return *value;
  return Unimplemented("its input ", input, ", ", Quoted(node_.input(int(input))),
                       ", is a constant; a layer reads what the network computes");
}

absl::StatusOr<ImportedValue> OperatorReader::Value(size_t input) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue value, RawValue(input));
  if (value.unfinished != Unfinished::kNothing) {
    return Unimplemented("its input ", input,
                         " is a step of -Softplus(-x), which is log(sigmoid x), of "
                         "x * (Erf(x / sqrt 2) + 1) / 2, which is GELU, of "
                         "Where(x > 20, x, Softplus x), or of a channel shuffle; the other steps "
                         "do not follow");
  }
  if (value.pads != ImagePads()) return Enlarged(input, value);
  DTNN_RETURN_IF_ERROR(CheckView(input, value));
  return value;
}

// What is not of the image itself: a factor that waits for its layer, and other axes.
absl::Status OperatorReader::CheckView(size_t input, const ImportedValue& value) const {
  if (value.factor != 1) {
    return Unimplemented("its input ", input,
                         " was multiplied by a number; only the scores of attention, a product of "
                         "two images over their channels, take that in");
  }
  if (value.axes.empty() || any_axes_) return absl::OkStatus();
  return Unimplemented("its input ", input, " is an image under the axes ", ToText(value.axes),
                       "; the operator takes (N, c, h, w) or (N, h, w, c)");
}

absl::StatusOr<ImportedValue> OperatorReader::Enlarged(size_t input, const ImportedValue& value) {
  const auto& [top, left, bottom, right] = value.pads;
  ImportedValue image = value;
  image.pads = {};
  DTNN_ASSIGN_OR_RETURN(const ImportedValue made,
                        state_.network.Add(std::make_shared<Pad2dLayer>(Pad2dOptions{
                                               .before = {top, left}, .after = {bottom, right}}),
                                           std::span(&image, 1), {}, node_.input(int(input))));
  state_.readers[made.node] = state_.readers[value.node];
  state_.values.insert_or_assign(node_.input(int(input)), made);
  return made;
}

absl::StatusOr<ImportedValue> OperatorReader::PaddedImage(size_t input) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue value, RawValue(input));
  if (!value.image() || value.unfinished != Unfinished::kNothing) {
    return Unimplemented("its input ", input, " is not an image, but a sample of shape ",
                         value.shape.ToString(), "; layers of images are two-dimensional");
  }
  DTNN_RETURN_IF_ERROR(CheckView(input, value));
  if (!value.channels_last) return value;
  return Unimplemented("its input ", input,
                       " was transposed to (height, width, channels); the operator takes channels "
                       "first");
}

absl::StatusOr<ImportedValue> OperatorReader::Image(size_t input) {
  DTNN_RETURN_IF_ERROR(Value(input).status());
  return PaddedImage(input);
}

absl::StatusOr<ImportedValue> OperatorReader::Features(size_t input) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue value, Value(input));
  if (!value.image()) return value;
  return Unimplemented("its input ", input, " is an image of shape ", value.shape.ToString(),
                       "; the layer takes features, as Flatten makes them");
}

bool OperatorReader::IsLastReader(size_t input) const {
  const ImportState::Known* known = Known(input);
  const auto* value = known == nullptr ? nullptr : std::get_if<ImportedValue>(known);
  return value != nullptr && !IsReadLater(*value);
}

void OperatorReader::SetOutput(TensorValues values) {
  state_.constant_bytes += values.MemoryBytes();
  SetKnown(std::make_shared<const TensorValues>(std::move(values)));
}

void OperatorReader::SetOutput(WholeNumbers numbers) {
  if (numbers.step == 0) return SetOutput(std::move(numbers.first));
  state_.constant_bytes += numbers.first.MemoryBytes();
  SetKnown(std::make_shared<const WholeNumbers>(std::move(numbers)));
}

void OperatorReader::SetOutput(ForEachSample constant) {
  state_.constant_bytes += constant.values.MemoryBytes();
  SetKnown(std::make_shared<const ForEachSample>(std::move(constant)));
}

ImportedValue OperatorReader::DropLatest() {
  state_.ranges.erase(state_.network.size() - 1);
  state_.readers.erase(state_.network.size() - 1);
  return state_.network.DropLatest();
}

absl::StatusOr<ImportedValue> OperatorReader::Output() const {
  const auto found = state_.values.find(node_.output(0));
  if (found != state_.values.end()) {
    if (const auto* value = std::get_if<ImportedValue>(&found->second)) return *value;
  }
  return absl::InternalError("has no output yet");
}

bool OperatorReader::OutputIsUsed(size_t output) const {
  return output < size_t(node_.output_size()) && state_.uses.contains(node_.output(int(output)));
}

bool OperatorReader::MakesTheOutput() const {
  const std::string& output = node_.output(0);
  return output == state_.output && state_.uses.at(output) == 1;
}

void OperatorReader::SetKnown(ImportState::Known known, size_t output) {
  state_.values.insert_or_assign(node_.output(int(output)), std::move(known));
}

// PyTorch names a layer's weights after it: "layer1.0.conv1.weight".
std::string OperatorReader::LayerName(int weights) const {
  constexpr std::string_view kEnding = ".weight";
  if (weights >= 0 && Has(size_t(weights))) {
    const std::string& name = node_.input(weights);
    if (name.ends_with(kEnding)) return name.substr(0, name.size() - kEnding.size());
  }
  // PyTorch's GroupNorm, whose weights stand in other nodes: the module's name all the same.
  constexpr std::string_view kNorm = "/InstanceNormalization";
  const std::string& name = node_.name();
  return name.ends_with(kNorm) ? name.substr(0, name.size() - kNorm.size()) : name;
}

absl::Status OperatorReader::AddLayer(std::shared_ptr<const Layer> layer,
                                      std::span<const ImportedValue> inputs,
                                      NetworkMaker::Parameters parameters, int weights) {
  DTNN_ASSIGN_OR_RETURN(
      const ImportedValue output,
      state_.network.Add(std::move(layer), inputs, std::move(parameters), LayerName(weights)));
  if (weights >= 0) {
    const ImportState::Known* known = Known(size_t(weights));
    const auto* values =
        known == nullptr ? nullptr : std::get_if<std::shared_ptr<const TensorValues>>(known);
    if (values != nullptr && (*values)->from_bytes) state_.products_of_bytes.insert(output.node);
  }
  SetOutput(output);
  return absl::OkStatus();
}

}  // namespace dtnn
