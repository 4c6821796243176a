// The codes of a pickle, as Python's pickletools lists them.

#include <utility>

#include "models/torch/unpickler.h"
#include "tensor/errors.h"

namespace dtnn {

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

}  // namespace dtnn
