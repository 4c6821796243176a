#include "models/torch/unpickler.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "tensor/errors.h"
#include "tensor/shape.h"

namespace dtnn {
namespace {

constexpr size_t kMostObjects = size_t{1} << 20;
constexpr size_t kMostOfAKey = 256;  // bytes of the key of a storage

constexpr std::string_view kDictionary = "collections.OrderedDict",
                           kTensor = "torch._utils._rebuild_tensor_v2",
                           kParameter = "torch._utils._rebuild_parameter";
constexpr std::string_view kStorages[] = {
    "FloatStorage", "DoubleStorage", "HalfStorage", "BFloat16Storage", "LongStorage",
    "IntStorage",   "ShortStorage",  "CharStorage", "ByteStorage",     "BoolStorage"};

}  // namespace

absl::StatusOr<PickledObject*> Unpickler::Run() {
  for (;;) {
    DTNN_ASSIGN_OR_RETURN(const std::string_view code, Take(1));
    if (code[0] == '.') return Pop();
    DTNN_RETURN_IF_ERROR(Step(uint8_t(code[0])));
  }
}

absl::StatusOr<std::string_view> Unpickler::Take(size_t count) {
  if (count > rest_.size()) return InvalidArgument("its pickle ends too early");
  const std::string_view taken = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return taken;
}

absl::StatusOr<int64_t> Unpickler::TakeNumber(size_t bytes, bool with_sign) {
  DTNN_ASSIGN_OR_RETURN(const std::string_view text, Take(bytes));
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value |= uint64_t(uint8_t(text[i])) << (8 * i);
  const bool negative = with_sign && bytes > 0 && uint8_t(text[bytes - 1]) >= 128;
  if (negative && bytes < 8) value |= ~uint64_t{0} << (8 * bytes);
  return int64_t(value);
}

absl::StatusOr<std::string> Unpickler::TakeLine() {
  const size_t end = rest_.find('\n');
  if (end == rest_.npos) return InvalidArgument("its pickle ends too early");
  std::string line(rest_.substr(0, end));
  rest_.remove_prefix(end + 1);
  return line;
}

absl::StatusOr<PickledObject*> Unpickler::New(Kind kind) {
  if (objects_.size() >= kMostObjects) {
    return InvalidArgument("its pickle has more than ", kMostObjects, " objects");
  }
  return &objects_.emplace_back(PickledObject{.kind = kind});
}

absl::Status Unpickler::PushNew(Kind kind, int64_t number, std::string text) {
  DTNN_ASSIGN_OR_RETURN(Object * object, New(kind));
  object->number = number;
  object->text = std::move(text);
  stack_.push_back(object);
  return absl::OkStatus();
}

absl::StatusOr<PickledObject*> Unpickler::Pop() {
  if (stack_.size() <= Floor()) return InvalidArgument("its pickle takes from an empty stack");
  Object* object = stack_.back();
  stack_.pop_back();
  return object;
}

absl::StatusOr<std::vector<PickledObject*>> Unpickler::PopToMark() {
  if (marks_.empty()) return InvalidArgument("its pickle has no mark to go back to");
  std::vector<Object*> items(stack_.begin() + int64_t(marks_.back()), stack_.end());
  stack_.resize(marks_.back());
  marks_.pop_back();
  return items;
}

absl::Status Unpickler::PushTuple(size_t count) {
  DTNN_ASSIGN_OR_RETURN(Object * tuple, New(Kind::kList));
  tuple->items.resize(count);
  for (size_t i = count; i > 0; --i) {
    DTNN_ASSIGN_OR_RETURN(tuple->items[i - 1], Pop());
  }
  stack_.push_back(tuple);
  return absl::OkStatus();
}

absl::Status Unpickler::AddItems(const std::vector<Object*>& items, Kind kind) {
  if (stack_.size() <= Floor() || stack_.back()->kind != kind ||
      (kind == Kind::kDictionary && items.size() % 2 != 0)) {
    return InvalidArgument("its pickle adds to what is not a list or dictionary");
  }
  std::vector<Object*>& all = stack_.back()->items;
  all.insert(all.end(), items.begin(), items.end());
  for (size_t i = 1; kind == Kind::kDictionary && i < items.size(); i += 2) {
    if (items[i - 1]->kind == Kind::kText && items[i]->kind == Kind::kTensor) {
      stack_.back()->has_tensors = true;
    }
  }
  return absl::OkStatus();
}

absl::Status Unpickler::PushText(size_t length_bytes) {
  DTNN_ASSIGN_OR_RETURN(const int64_t length, TakeNumber(length_bytes, /*with_sign=*/false));
  DTNN_ASSIGN_OR_RETURN(const std::string_view text, Take(size_t(length)));
  return PushNew(Kind::kText, 0, std::string(text));
}

absl::Status Unpickler::PushName(const std::string& module, const std::string& name) {
  const std::string full = StrCat(module, ".", name);
  const bool storage =
      module == "torch" && std::ranges::find(kStorages, name) != std::end(kStorages);
  if (!storage && full != kDictionary && full != kTensor && full != kParameter) {
    return InvalidArgument("names ", Quoted(full),
                           ", and to load that could run any program. Only tensors are "
                           "read: save model.state_dict(), with tensors on the CPU");
  }
  return PushNew(Kind::kName, 0, storage ? name : full);
}

absl::Status Unpickler::Memoize(int64_t key) {
  if (stack_.size() <= Floor()) return InvalidArgument("its pickle remembers nothing");
  memo_[key] = stack_.back();
  return absl::OkStatus();
}

absl::Status Unpickler::Recall(int64_t key) {
  const auto found = memo_.find(key);
  if (found == memo_.end()) return InvalidArgument("its pickle recalls what it never had");
  stack_.push_back(found->second);
  return absl::OkStatus();
}

absl::Status Unpickler::PushStorage() {
  DTNN_ASSIGN_OR_RETURN(const Object* id, Pop());
  const std::vector<Object*>& items = id->items;
  if (id->kind != Kind::kList || items.size() != 5 || items[0]->text != "storage" ||
      items[1]->kind != Kind::kName || items[2]->kind != Kind::kText ||
      items[2]->text.size() > kMostOfAKey || items[4]->kind != Kind::kNumber) {
    return InvalidArgument("its pickle has a storage of an unknown form");
  }
  DTNN_ASSIGN_OR_RETURN(Object * storage, New(Kind::kStorage));
  storage->tensor.storage = items[2]->text;
  storage->tensor.type = items[1]->text;
  storage->tensor.elements = items[4]->number;
  stack_.push_back(storage);
  return absl::OkStatus();
}

absl::Status Unpickler::Call() {
  DTNN_ASSIGN_OR_RETURN(const Object* arguments, Pop());
  DTNN_ASSIGN_OR_RETURN(const Object* function, Pop());
  const std::vector<Object*>& items = arguments->items;
  if (function->kind != Kind::kName || arguments->kind != Kind::kList) {
    return InvalidArgument("its pickle calls what is not a function");
  }
  if (function->text == kDictionary && items.empty()) return PushNew(Kind::kDictionary);
  if (function->text == kParameter && !items.empty() && items[0]->kind == Kind::kTensor) {
    stack_.push_back(items[0]);
    return absl::OkStatus();
  }
  if (function->text != kTensor || items.size() < 4 || items[0]->kind != Kind::kStorage ||
      items[1]->kind != Kind::kNumber || items[2]->kind != Kind::kList ||
      items[3]->kind != Kind::kList || items[2]->items.size() != items[3]->items.size()) {
    return InvalidArgument("its pickle has a tensor of an unknown form");
  }
  if (items[2]->items.size() > size_t(Shape::kMaxRank)) {
    return InvalidArgument("its pickle has a tensor of ", items[2]->items.size(),
                           " axes; expected at most ", Shape::kMaxRank);
  }
  if (++tensors_ > kMostTensors) {
    return InvalidArgument("its pickle has more than ", kMostTensors, " tensors");
  }
  DTNN_ASSIGN_OR_RETURN(Object * tensor, New(Kind::kTensor));
  tensor->tensor = items[0]->tensor;
  tensor->tensor.offset = items[1]->number;
  for (const Object* extent : items[2]->items) tensor->tensor.extents.push_back(extent->number);
  for (const Object* stride : items[3]->items) tensor->tensor.strides.push_back(stride->number);
  stack_.push_back(tensor);
  return absl::OkStatus();
}

}  // namespace dtnn
