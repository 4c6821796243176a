// The JSON of a request to infer, as infer_request.h describes it.

#ifndef DTNN_MODELS_SERVING_PROTOCOL_REQUEST_READER_H_
#define DTNN_MODELS_SERVING_PROTOCOL_REQUEST_READER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/serving/protocol/infer_request.h"
#include "nlohmann/json.hpp"
#include "tensor/errors.h"

namespace dtnn {

// An input as it is read, in any order of its members.
struct RawInput {
  InferInput input;
  std::optional<std::vector<int64_t>> shape;
  bool has_data = false;
  std::optional<int64_t> binary_bytes;
  // How many elements the arrays of each depth have. Flat data have one.
  std::vector<int64_t> nesting;
};

// Receives the pieces of the JSON as they come. A member function that returns false ends the
// parse; `error` then says why.
class RequestReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit RequestReader(const InferLimits& limits) : limits_(limits) {}

  bool start_object(std::size_t) override {
    const bool parameters = key_ == "parameters";
    switch (place()) {
      case Place::kNone:
        return Enter(Place::kRequest);
      case Place::kRequest:
        if (key_ == "inputs" || key_ == "outputs" || key_ == "id") return Misplaced("an object");
        return Enter(parameters ? Place::kParameters : Place::kIgnored);
      case Place::kInputs:
        if (int(inputs.size()) == limits_.tensors) return TooManyTensors("inputs");
        inputs.emplace_back();
        return Enter(Place::kInput);
      case Place::kInput:
        if (IsMemberOfInput()) return Misplaced("an object");
        return Enter(parameters ? Place::kInputParameters : Place::kIgnored);
      case Place::kOutputs:
        if (int(request.outputs.size()) == limits_.tensors) return TooManyTensors("outputs");
        request.outputs.emplace_back();
        return Enter(Place::kOutput);
      case Place::kOutput:
        return Enter(parameters ? Place::kOutputParameters : Place::kIgnored);
      case Place::kShape:
      case Place::kData:
        return Misplaced("an object");
      default:
        return Enter(Place::kIgnored);
    }
  }

  bool start_array(std::size_t) override {
    switch (place()) {
      case Place::kNone:
        return Misplaced("an array");
      case Place::kRequest:
        if (key_ == "inputs") return Once(has_inputs_) && Enter(Place::kInputs);
        if (key_ == "outputs") return Once(has_outputs_) && Enter(Place::kOutputs);
        if (key_ == "id" || key_ == "parameters") return Misplaced("an array");
        return Enter(Place::kIgnored);
      case Place::kInput:
        if (key_ == "shape") {
          if (input().shape) return Twice();
          input().shape.emplace();
          return Enter(Place::kShape);
        }
        if (key_ == "data") return Once(input().has_data) && EnterData();
        if (IsMemberOfInput() || key_ == "parameters") return Misplaced("an array");
        return Enter(Place::kIgnored);
      case Place::kData:
        return CountElement() && EnterData();
      case Place::kInputs:
      case Place::kOutputs:
      case Place::kShape:
        return Misplaced("an array");
      default:
        return Enter(Place::kIgnored);
    }
  }

  bool end_object() override { return Leave(); }
  bool end_array() override {
    if (place() == Place::kData) {
      const int64_t count = counts_.back();
      counts_.pop_back();
      std::vector<int64_t>& nesting = input().nesting;
      const size_t depth = counts_.size();
      if (nesting.size() <= depth) nesting.resize(depth + 1, -1);
      if (nesting[depth] != -1 && nesting[depth] != count) {
        return Fail(": data has arrays of different lengths beside each other");
      }
      nesting[depth] = count;
    }
    return Leave();
  }
  bool key(std::string& name) override {
    key_ = name;
    return true;
  }

  bool string(std::string& text) override {
    if (place() == Place::kNone) return Misplaced("a text");
    if (place() == Place::kRequest && key_ == "id") return Set(request.id, text);
    if (place() == Place::kInput && key_ == "name") return Set(input().input.name, text);
    if (place() == Place::kInput && key_ == "datatype") return Set(input().input.datatype, text);
    if (place() == Place::kOutput && key_ == "name") return Set(request.outputs.back().name, text);
    return Other("a text");
  }
  bool boolean(bool value) override {
    if (place() == Place::kParameters && key_ == "binary_data_output") {
      request.binary_outputs = value;
      return true;
    }
    if (place() == Place::kOutputParameters && key_ == "binary_data") {
      request.outputs.back().binary = value;
      return true;
    }
    return Other("true or false");
  }
  bool number_integer(number_integer_t value) override { return Number(double(value), value); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > uint64_t(std::numeric_limits<int64_t>::max())) {
      return Number(double(value), std::nullopt);
    }
    return Number(double(value), int64_t(value));
  }
  bool number_float(number_float_t value, const std::string&) override {
    return Number(value, std::nullopt);
  }
  bool null() override { return Other("null"); }
  bool binary(nlohmann::json::binary_t&) override { return Other("binary data"); }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    error =
        StrCat("the request has no valid JSON, or a number that is too large, at byte ", position);
    return false;
  }

  InferRequest request;
  std::vector<RawInput> inputs;
  std::string error;

 private:
  enum class Place : uint8_t {
    kNone,
    kRequest,
    kInputs,
    kInput,
    kShape,
    kData,
    kInputParameters,
    kOutputs,
    kOutput,
    kOutputParameters,
    kParameters,
    kIgnored,
  };

  Place place() const { return depth_ == 0 ? Place::kNone : places_[depth_ - 1]; }
  RawInput& input() { return inputs.back(); }
  bool IsMemberOfInput() const {
    return key_ == "name" || key_ == "datatype" || key_ == "shape" || key_ == "data";
  }

  bool Enter(Place place) {
    if (depth_ == kMostDepth) return Fail(": nested deeper than ", kMostDepth, " levels");
    places_[depth_++] = place;
    key_.clear();
    return true;
  }
  bool EnterData() {
    counts_.push_back(0);
    return Enter(Place::kData);
  }
  bool Leave() {
    --depth_;
    key_.clear();
    return true;
  }
  bool CountElement() {
    ++counts_.back();
    return true;
  }

  bool Number(double value, std::optional<int64_t> whole) {
    switch (place()) {
      case Place::kData:
        if (++values_ > limits_.values) {
          return Fail(": data has more than ", limits_.values, " values; send it as binary data");
        }
        input().input.values.push_back(value);
        return CountElement();
      case Place::kShape:
        if (!whole || *whole < 0) return Fail(": shape has a number that is not a whole one >= 0");
        if (input().shape->size() == size_t{Shape::kMaxRank}) {
          return Fail(": shape has more than ", int{Shape::kMaxRank}, " dimensions");
        }
        input().shape->push_back(*whole);
        return true;
      case Place::kInputParameters:
        if (key_ != "binary_data_size") return true;
        if (!whole || *whole < 0) return Fail(": binary_data_size is not a whole number >= 0");
        input().binary_bytes = *whole;
        return true;
      default:
        return Other("a number");
    }
  }

  // A value where only some may be.
  bool Other(std::string_view what) {
    switch (place()) {
      case Place::kNone:
      case Place::kInputs:
      case Place::kOutputs:
      case Place::kShape:
      case Place::kData:
        return Misplaced(what);
      case Place::kRequest:
        if (key_ == "id" || key_ == "inputs" || key_ == "outputs") return Misplaced(what);
        return true;
      case Place::kInput:
        return IsMemberOfInput() ? Misplaced(what) : true;
      case Place::kOutput:
        return key_ == "name" ? Misplaced(what) : true;
      case Place::kInputParameters:
        return key_ == "binary_data_size" ? Misplaced(what) : true;
      case Place::kOutputParameters:
        return key_ == "binary_data" ? Misplaced(what) : true;
      case Place::kParameters:
        return key_ == "binary_data_output" ? Misplaced(what) : true;
      case Place::kIgnored:
        return true;
    }
    return true;
  }

  template <typename T>
  bool Set(T& member, std::string& text) {
    if (text.size() > kMostText) {
      return Fail(": ", key_, " has more than ", kMostText, " characters");
    }
    member = std::move(text);
    return true;
  }
  bool Once(bool& has) { return std::exchange(has, true) ? Twice() : true; }
  bool Twice() { return Fail(": has ", key_, " twice"); }
  bool TooManyTensors(std::string_view list) {
    return Fail(": more than ", limits_.tensors, " ", list);
  }
  bool Misplaced(std::string_view what) {
    if (place() == Place::kNone) return Fail(" is ", what, "; expected an object");
    if (place() == Place::kData) return Fail(": data has ", what, "; expected numbers");
    if (place() == Place::kShape) return Fail(": shape has ", what, "; expected whole numbers");
    if (place() == Place::kInputs || place() == Place::kOutputs) {
      return Fail(": ", what, " among the ", place() == Place::kInputs ? "inputs" : "outputs",
                  "; expected objects");
    }
    return Fail(": ", key_, " is ", what);
  }
  template <typename... Pieces>
  bool Fail(const Pieces&... pieces) {
    std::string where = "the request";
    for (size_t i = 0; i < depth_; ++i) {
      if (places_[i] == Place::kInput) where = StrCat("inputs[", inputs.size() - 1, "]");
      if (places_[i] == Place::kOutput) where = StrCat("outputs[", request.outputs.size() - 1, "]");
    }
    error = StrCat(where, pieces...);
    return false;
  }

  const InferLimits limits_;
  static constexpr size_t kMostDepth = 32;
  static constexpr size_t kMostText = 1024;  // of ids and names

  std::array<Place, kMostDepth> places_ = {};
  size_t depth_ = 0;
  std::string key_;
  bool has_inputs_ = false, has_outputs_ = false;
  int64_t values_ = 0;
  std::vector<int64_t> counts_;  // elements of the arrays of data that are open
};

}  // namespace dtnn

#endif  // DTNN_MODELS_SERVING_PROTOCOL_REQUEST_READER_H_
