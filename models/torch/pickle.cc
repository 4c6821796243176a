#include "models/torch/pickle.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <utility>

#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr size_t kMostObjects = size_t{1} << 20;

constexpr std::string_view kDictionary = "collections.OrderedDict",
                           kTensor = "torch._utils._rebuild_tensor_v2",
                           kParameter = "torch._utils._rebuild_parameter";
constexpr std::string_view kStorages[] = {
    "FloatStorage", "DoubleStorage", "HalfStorage", "BFloat16Storage", "LongStorage",
    "IntStorage",   "ShortStorage",  "CharStorage", "ByteStorage",     "BoolStorage"};

enum class Kind : uint8_t {
  kNothing,
  kNumber,
  kText,
  kList,
  kDictionary,
  kName,
  kStorage,
  kTensor
};

struct Object {
  Kind kind = Kind::kNothing;
  int64_t number = 0;
  std::string text = {};            // of a text; of a name; of a storage: its key
  std::vector<Object*> items = {};  // of a dictionary: key, value, key, value, ...
  PickledTensor tensor = {};        // of a tensor, and of a storage
};

class Unpickler {
 public:
  explicit Unpickler(std::string_view bytes) : rest_(bytes) {}

  // The object that the program leaves.
  absl::StatusOr<Object*> Run() {
    for (;;) {
      DTNN_ASSIGN_OR_RETURN(const std::string_view code, Take(1));
      if (code[0] == '.') return Pop();
      DTNN_RETURN_IF_ERROR(Step(uint8_t(code[0])));
    }
  }

 private:
  absl::StatusOr<std::string_view> Take(size_t count) {
    if (count > rest_.size()) return InvalidArgument("its pickle ends too early");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  // A little-endian number of `bytes`, with its sign.
  absl::StatusOr<int64_t> TakeNumber(size_t bytes, bool with_sign) {
    DTNN_ASSIGN_OR_RETURN(const std::string_view text, Take(bytes));
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; ++i) value |= uint64_t(uint8_t(text[i])) << (8 * i);
    const bool negative = with_sign && bytes > 0 && uint8_t(text[bytes - 1]) >= 128;
    if (negative && bytes < 8) value |= ~uint64_t{0} << (8 * bytes);
    return int64_t(value);
  }
  absl::StatusOr<std::string> TakeLine() {
    const size_t end = rest_.find('\n');
    if (end == rest_.npos) return InvalidArgument("its pickle ends too early");
    std::string line(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return line;
  }

  absl::StatusOr<Object*> New(Kind kind) {
    if (objects_.size() >= kMostObjects) {
      return InvalidArgument("its pickle has more than ", kMostObjects, " objects");
    }
    return &objects_.emplace_back(Object{.kind = kind});
  }
  absl::Status PushNew(Kind kind, int64_t number = 0, std::string text = "") {
    DTNN_ASSIGN_OR_RETURN(Object * object, New(kind));
    object->number = number;
    object->text = std::move(text);
    stack_.push_back(object);
    return absl::OkStatus();
  }
  absl::StatusOr<Object*> Pop() {
    const size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() <= floor) return InvalidArgument("its pickle takes from an empty stack");
    Object* object = stack_.back();
    stack_.pop_back();
    return object;
  }
  // What was pushed since the last mark, or the latest `count`.
  absl::StatusOr<std::vector<Object*>> PopToMark() {
    if (marks_.empty()) return InvalidArgument("its pickle has no mark to go back to");
    std::vector<Object*> items(stack_.begin() + int64_t(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }
  absl::Status PushTuple(size_t count) {
    DTNN_ASSIGN_OR_RETURN(Object * tuple, New(Kind::kList));
    tuple->items.resize(count);
    for (size_t i = count; i > 0; --i) {
      DTNN_ASSIGN_OR_RETURN(tuple->items[i - 1], Pop());
    }
    stack_.push_back(tuple);
    return absl::OkStatus();
  }
  // Adds to the list or dictionary on top.
  absl::Status AddItems(const std::vector<Object*>& items, Kind kind) {
    const size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() <= floor || stack_.back()->kind != kind ||
        (kind == Kind::kDictionary && items.size() % 2 != 0)) {
      return InvalidArgument("its pickle adds to what is not a list or dictionary");
    }
    std::vector<Object*>& all = stack_.back()->items;
    all.insert(all.end(), items.begin(), items.end());
    return absl::OkStatus();
  }
  absl::Status PushText(size_t length_bytes) {
    DTNN_ASSIGN_OR_RETURN(const int64_t length, TakeNumber(length_bytes, /*with_sign=*/false));
    DTNN_ASSIGN_OR_RETURN(const std::string_view text, Take(size_t(length)));
    return PushNew(Kind::kText, 0, std::string(text));
  }
  absl::Status PushName(std::string module, const std::string& name) {
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
  absl::Status Memoize(int64_t key) {
    const size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() <= floor) return InvalidArgument("its pickle remembers nothing");
    memo_[key] = stack_.back();
    return absl::OkStatus();
  }
  absl::Status Recall(int64_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) return InvalidArgument("its pickle recalls what it never had");
    stack_.push_back(found->second);
    return absl::OkStatus();
  }

  // ("storage", type, key, place, elements) becomes a storage.
  absl::Status PushStorage() {
    DTNN_ASSIGN_OR_RETURN(const Object* id, Pop());
    const std::vector<Object*>& items = id->items;
    if (id->kind != Kind::kList || items.size() != 5 || items[0]->text != "storage" ||
        items[1]->kind != Kind::kName || items[2]->kind != Kind::kText ||
        items[4]->kind != Kind::kNumber) {
      return InvalidArgument("its pickle has a storage of an unknown form");
    }
    DTNN_ASSIGN_OR_RETURN(Object * storage, New(Kind::kStorage));
    storage->tensor.storage = items[2]->text;
    storage->tensor.type = items[1]->text;
    storage->tensor.elements = items[4]->number;
    stack_.push_back(storage);
    return absl::OkStatus();
  }

  // What a call of one of the known names makes.
  absl::Status Call() {
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
    DTNN_ASSIGN_OR_RETURN(Object * tensor, New(Kind::kTensor));
    tensor->tensor = items[0]->tensor;
    tensor->tensor.offset = items[1]->number;
    for (const Object* extent : items[2]->items) tensor->tensor.extents.push_back(extent->number);
    for (const Object* stride : items[3]->items) tensor->tensor.strides.push_back(stride->number);
    stack_.push_back(tensor);
    return absl::OkStatus();
  }

  absl::Status Step(uint8_t code);

  std::string_view rest_;
  std::deque<Object> objects_;  // all of them, which point to each other as they like
  std::vector<Object*> stack_;
  std::vector<size_t> marks_;
  std::map<int64_t, Object*> memo_;
};

// Codes of Python's pickletools.
absl::Status Unpickler::Step(uint8_t code) {
  const auto number = [&](size_t bytes, bool with_sign) -> absl::Status {
    DTNN_ASSIGN_OR_RETURN(const int64_t value, TakeNumber(bytes, with_sign));
    return PushNew(Kind::kNumber, value);
  };
  const auto with_key = [&](size_t bytes, absl::Status (Unpickler::*act)(int64_t)) -> absl::Status {
    DTNN_ASSIGN_OR_RETURN(const int64_t key, TakeNumber(bytes, /*with_sign=*/false));
    return (this->*act)(key);
  };
  const auto add = [&](Kind kind) -> absl::Status {
    DTNN_ASSIGN_OR_RETURN(const std::vector<Object*> items, PopToMark());
    return AddItems(items, kind);
  };
  switch (code) {
    case 0x80:  // PROTO
      return Take(1).status();
    case 0x95:  // FRAME
      return Take(8).status();
    case '(':
      marks_.push_back(stack_.size());
      return absl::OkStatus();
    case 'N':
      return PushNew(Kind::kNothing);
    case 0x88:
    case 0x89:
      return PushNew(Kind::kNumber, code == 0x88 ? 1 : 0);
    case 'K':
      return number(1, false);
    case 'M':
      return number(2, false);
    case 'J':
      return number(4, true);
    case 0x8a: {  // LONG1
      DTNN_ASSIGN_OR_RETURN(const int64_t bytes, TakeNumber(1, false));
      if (bytes > 8) return InvalidArgument("its pickle has a number of ", bytes, " bytes");
      return number(size_t(bytes), true);
    }
    case 'G':  // a real number, which is none of a tensor's
      DTNN_RETURN_IF_ERROR(Take(8).status());
      return PushNew(Kind::kNothing);
    case 'X':
      return PushText(4);
    case 0x8c:
      return PushText(1);
    case ')':
      return PushTuple(0);
    case 0x85:
    case 0x86:
    case 0x87:
      return PushTuple(code - 0x84U);
    case 't':
    case 'l': {
      DTNN_ASSIGN_OR_RETURN(std::vector<Object*> items, PopToMark());
      DTNN_RETURN_IF_ERROR(PushNew(Kind::kList));
      stack_.back()->items = std::move(items);
      return absl::OkStatus();
    }
    case ']':
      return PushNew(Kind::kList);
    case '}':
      return PushNew(Kind::kDictionary);
    case 'a': {
      DTNN_ASSIGN_OR_RETURN(Object * item, Pop());
      return AddItems({item}, Kind::kList);
    }
    case 'e':
      return add(Kind::kList);
    case 's': {
      DTNN_ASSIGN_OR_RETURN(Object * value, Pop());
      DTNN_ASSIGN_OR_RETURN(Object * key, Pop());
      return AddItems({key, value}, Kind::kDictionary);
    }
    case 'u':
      return add(Kind::kDictionary);
    case 'c': {
      DTNN_ASSIGN_OR_RETURN(std::string module, TakeLine());
      DTNN_ASSIGN_OR_RETURN(const std::string name, TakeLine());
      return PushName(std::move(module), name);
    }
    case 0x93: {  // STACK_GLOBAL
      DTNN_ASSIGN_OR_RETURN(const Object* name, Pop());
      DTNN_ASSIGN_OR_RETURN(const Object* module, Pop());
      return PushName(module->text, name->text);
    }
    case 'q':
      return with_key(1, &Unpickler::Memoize);
    case 'r':
      return with_key(4, &Unpickler::Memoize);
    case 0x94:
      return Memoize(int64_t(memo_.size()));
    case 'h':
      return with_key(1, &Unpickler::Recall);
    case 'j':
      return with_key(4, &Unpickler::Recall);
    case 'Q':
      return PushStorage();
    case 'R':
      return Call();
    case 'b':  // attributes of an object, here of a dictionary: versions of modules
      return Pop().status();
    default:
      return InvalidArgument("its pickle has code ", int(code),
                             ", which files of tensors do not need");
  }
}

}  // namespace

absl::StatusOr<std::vector<PickledTensor>> ReadPickle(std::string_view bytes) {
  Unpickler unpickler(bytes);
  DTNN_ASSIGN_OR_RETURN(const Object* all, unpickler.Run());
  for (size_t i = 0; all->kind == Kind::kDictionary && i + 1 < all->items.size(); i += 2) {
    const Object &key = *all->items[i], &value = *all->items[i + 1];
    if (value.kind != Kind::kDictionary || (key.text != "state_dict" && key.text != "model")) {
      continue;
    }
    all = &value;
    break;
  }
  std::vector<PickledTensor> tensors;
  for (size_t i = 0; all->kind == Kind::kDictionary && i + 1 < all->items.size(); i += 2) {
    const Object &key = *all->items[i], &value = *all->items[i + 1];
    if (key.kind != Kind::kText || value.kind != Kind::kTensor) continue;
    tensors.push_back(value.tensor);
    tensors.back().name = key.text;
  }
  if (!tensors.empty()) return tensors;
  return InvalidArgument("contains no dictionary of tensors by name, as model.state_dict() is");
}

}  // namespace dtnn
