// Many short texts in one block of memory: the file names of a data set, 8 bytes each beside their
// characters.

#ifndef DTNN_DATA_FILES_NAME_LIST_H_
#define DTNN_DATA_FILES_NAME_LIST_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dtnn {

class NameList {
 public:
  void Add(std::string_view name) {
    characters_ += name;
    ends_.push_back(characters_.size());
  }
  int64_t size() const { return int64_t(ends_.size()); }
  std::string_view operator[](int64_t index) const {
    const uint64_t begin = index == 0 ? 0 : ends_[size_t(index) - 1];
    return std::string_view(characters_).substr(begin, ends_[size_t(index)] - begin);
  }

 private:
  std::string characters_;
  std::vector<uint64_t> ends_;
};

}  // namespace dtnn

#endif  // DTNN_DATA_FILES_NAME_LIST_H_
