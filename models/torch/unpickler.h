// The machine of a pickle, as far as tensors need it (pickle.h).

#ifndef DTNN_MODELS_TORCH_UNPICKLER_H_
#define DTNN_MODELS_TORCH_UNPICKLER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/torch/pickle.h"

namespace dtnn {

struct PickledObject {
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

  Kind kind = Kind::kNothing;
  int64_t number = 0;
  std::string text = {};                   // of a text; of a name
  std::vector<PickledObject*> items = {};  // of a dictionary: key, value, key, value, ...
  bool has_tensors = false;                // of a dictionary: some value with a text as its key
  PickledTensor tensor = {};               // of a tensor, and of a storage
};

class Unpickler {
 public:
  explicit Unpickler(std::string_view bytes) : rest_(bytes) {}

  // The object that the program leaves, which lives as long as this one.
  absl::StatusOr<PickledObject*> Run();

 private:
  using Kind = PickledObject::Kind;
  using Object = PickledObject;

  // What runs one code (unpickler_codes.cc).
  absl::Status Step(uint8_t code);

  absl::StatusOr<std::string_view> Take(size_t count);
  // A little-endian number.
  absl::StatusOr<int64_t> TakeNumber(size_t bytes, bool with_sign);
  absl::StatusOr<std::string> TakeLine();

  absl::StatusOr<Object*> New(Kind kind);
  absl::Status PushNew(Kind kind, int64_t number = 0, std::string text = "");
  absl::StatusOr<Object*> Pop();
  // What was pushed since the last mark.
  absl::StatusOr<std::vector<Object*>> PopToMark();
  absl::Status PushTuple(size_t count);
  // Adds to the list or dictionary on top.
  absl::Status AddItems(const std::vector<Object*>& items, Kind kind);
  absl::Status PushText(size_t length_bytes);
  absl::Status PushName(const std::string& module, const std::string& name);
  absl::Status Memoize(int64_t key);
  absl::Status Recall(int64_t key);
  // ("storage", type, key, place, elements) becomes a storage.
  absl::Status PushStorage();
  // What a call of one of the known names makes.
  absl::Status Call();

  size_t Floor() const { return marks_.empty() ? 0 : marks_.back(); }

  std::string_view rest_;
  std::deque<Object> objects_;  // all of them, which point to each other as they like
  std::vector<Object*> stack_;
  std::vector<size_t> marks_;
  std::map<int64_t, Object*> memo_;
  int tensors_ = 0;  // that were made
};

}  // namespace dtnn

#endif  // DTNN_MODELS_TORCH_UNPICKLER_H_
