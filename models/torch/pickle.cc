#include "models/torch/pickle.h"

#include <string>

#include "models/torch/unpickler.h"
#include "tensor/errors.h"

namespace dtnn {

namespace {

using Kind = PickledObject::Kind;

constexpr size_t kMostOfAName = 1024;
constexpr size_t kMostKeys = 20, kMostOfAKey = 64;  // of a message

absl::StatusOr<const PickledObject *> FindWeights(const PickledObject &all) {
  const PickledObject *only = nullptr;
  int dictionaries = 0;
  std::string keys;
  for (size_t i = 0; all.kind == Kind::kDictionary && i + 1 < all.items.size(); i += 2) {
    const PickledObject &key = *all.items[i], &value = *all.items[i + 1];
    if (i / 2 < kMostKeys) {
      StrAppend(&keys, i == 0 ? "" : ", ", Quoted(key.text.substr(0, kMostOfAKey)));
    }
    if (value.kind != Kind::kDictionary || !value.has_tensors) continue;
    if (key.text == "state_dict" || key.text == "model") return &value;
    only = &value;
    ++dictionaries;
  }
  if (dictionaries == 1) return only;
  if (dictionaries == 0 && all.has_tensors) return &all;
  return InvalidArgument("contains ", dictionaries == 0 ? "no dictionary" : "several dictionaries",
                         " of tensors by name, as model.state_dict() is; save that one alone. ",
                         "The file has ", keys.empty() ? "no keys" : "the keys ", keys);
}

}  // namespace

absl::StatusOr<std::vector<PickledTensor>> ReadPickle(std::string_view bytes) {
  Unpickler unpickler(bytes);
  DTNN_ASSIGN_OR_RETURN(const PickledObject *all, unpickler.Run());
  DTNN_ASSIGN_OR_RETURN(const PickledObject *weights, FindWeights(*all));
  std::vector<PickledTensor> tensors;
  for (size_t i = 0; i + 1 < weights->items.size(); i += 2) {
    const PickledObject &key = *weights->items[i], &value = *weights->items[i + 1];
    if (key.kind != Kind::kText || value.kind != Kind::kTensor) continue;
    if (key.text.size() > kMostOfAName || tensors.size() >= size_t(kMostTensors)) {
      return InvalidArgument("has a name of more than ", kMostOfAName, " bytes, or more than ",
                             kMostTensors, " tensors");
    }
    tensors.push_back(value.tensor);
    tensors.back().name = key.text;
  }
  return tensors;
}

}  // namespace dtnn
