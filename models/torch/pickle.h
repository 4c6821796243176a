// The tensors that a pickle of torch.save describes, without Python: a pickle is a program, of
// which only what tensors need is run.
//
// Known are numbers, texts, tuples, lists, dictionaries, and of all the functions and classes that
// a pickle may name only OrderedDict, the storages of PyTorch and what makes a tensor of one. Any
// other name is an error that gives it. Nothing that a pickle names is ever called. Memory stays
// within a fixed number of objects.

#ifndef DTNN_MODELS_TORCH_PICKLE_H_
#define DTNN_MODELS_TORCH_PICKLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace dtnn {

// A view of a storage, whose bytes are a member of the file.
struct PickledTensor {
  std::string name;                  // "layer1.0.conv1.weight"
  std::string storage;               // the member's key
  std::string type;                  // "FloatStorage"
  int64_t elements = 0, offset = 0;  // of the storage; of the view in it
  std::vector<int64_t> extents = {}, strides = {};
};

inline constexpr int kMostTensors = 1 << 16;  // of a pickle

// Those of a dictionary of tensors by name, or of one that has such a dictionary, as "state_dict",
// as "model", or as its only one; other entries are left out. InvalidArgument for anything else;
// messages begin with what is wrong.
absl::StatusOr<std::vector<PickledTensor>> ReadPickle(std::string_view bytes);

}  // namespace dtnn

#endif  // DTNN_MODELS_TORCH_PICKLE_H_
