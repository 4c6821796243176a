#include "models/torch/pickle.h"

#include "models/torch/unpickler.h"
#include "tensor/errors.h"

namespace dtnn {

absl::StatusOr<std::vector<PickledTensor>> ReadPickle(std::string_view bytes) {
  using Kind = PickledObject::Kind;
  Unpickler unpickler(bytes);
  DTNN_ASSIGN_OR_RETURN(const PickledObject *all, unpickler.Run());
  for (size_t i = 0; all->kind == Kind::kDictionary && i + 1 < all->items.size(); i += 2) {
    const PickledObject &key = *all->items[i], &value = *all->items[i + 1];
    if (value.kind != Kind::kDictionary || (key.text != "state_dict" && key.text != "model")) {
      continue;
    }
    all = &value;
    break;
  }
  std::vector<PickledTensor> tensors;
  for (size_t i = 0; all->kind == Kind::kDictionary && i + 1 < all->items.size(); i += 2) {
    const PickledObject &key = *all->items[i], &value = *all->items[i + 1];
    if (key.kind != Kind::kText || value.kind != Kind::kTensor) continue;
    tensors.push_back(value.tensor);
    tensors.back().name = key.text;
  }
  if (!tensors.empty()) return tensors;
  return InvalidArgument("contains no dictionary of tensors by name, as model.state_dict() is");
}

}  // namespace dtnn
