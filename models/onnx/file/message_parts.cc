#include "models/onnx/file/message_parts.h"

#include <optional>

namespace dtnn {
namespace {

constexpr int kMostDepth = 100;  // protobuf's own limit

enum class Message : uint8_t {
  kModel,
  kGraph,
  kNode,
  kAttribute,
  kTensor,
  kValue,
  kType,
  kTensorType,
  kShape,
  kEntry
};

struct Field {
  Message in;
  uint64_t number;
  Message is;
};

// The fields of onnx.proto that hold messages which hold more than a few fields.
constexpr Field kFields[] = {
    {Message::kModel, 7, Message::kGraph},      {Message::kModel, 14, Message::kEntry},
    {Message::kGraph, 1, Message::kNode},       {Message::kGraph, 5, Message::kTensor},
    {Message::kGraph, 11, Message::kValue},     {Message::kGraph, 12, Message::kValue},
    {Message::kNode, 5, Message::kAttribute},   {Message::kAttribute, 5, Message::kTensor},
    {Message::kAttribute, 6, Message::kGraph},  {Message::kTensor, 13, Message::kEntry},
    {Message::kValue, 2, Message::kType},       {Message::kType, 1, Message::kTensorType},
    {Message::kTensorType, 2, Message::kShape}, {Message::kShape, 1, Message::kEntry},
};

class Counter {
 public:
  explicit Counter(int64_t most) : most_(most) {}

  void Walk(std::string_view bytes, Message message, int depth) {
    while (!bytes.empty() && count_ <= most_ && depth < kMostDepth) {
      ++count_;
      const std::optional<uint64_t> tag = TakeNumber(bytes);
      if (!tag) return;
      switch (*tag & 7) {
        case 0:
          if (!TakeNumber(bytes)) return;
          break;
        case 1:
          bytes.remove_prefix(bytes.size() < 8 ? bytes.size() : 8);
          break;
        case 5:
          bytes.remove_prefix(bytes.size() < 4 ? bytes.size() : 4);
          break;
        case 2: {
          const std::optional<uint64_t> size = TakeNumber(bytes);
          if (!size || *size > bytes.size()) return;
          for (const Field& field : kFields) {
            if (field.in != message || field.number != *tag >> 3) continue;
            Walk(bytes.substr(0, size_t(*size)), field.is, depth + 1);
          }
          bytes.remove_prefix(size_t(*size));
          break;
        }
        default:
          break;  // the begin or end of a group: a part
      }
    }
  }
  int64_t count() const { return count_; }

 private:
  static std::optional<uint64_t> TakeNumber(std::string_view& bytes) {
    uint64_t number = 0;
    for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
      const auto byte = uint8_t(bytes[0]);
      bytes.remove_prefix(1);
      number |= uint64_t(byte & 127) << shift;
      if (byte < 128) return number;
    }
    return std::nullopt;
  }

  int64_t most_, count_ = 0;
};

}  // namespace

int64_t CountMessageParts(std::string_view bytes, int64_t most) {
  Counter counter(most);
  counter.Walk(bytes, Message::kModel, /*depth=*/0);
  return counter.count();
}

}  // namespace dtnn
