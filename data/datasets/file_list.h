// Where the files of a data set are: in folders, or in plain .tar archives that are read in place.
// About 30 bytes per file beside its name. Once filled it may be read from several threads.

#ifndef DTNN_DATA_DATASETS_FILE_LIST_H_
#define DTNN_DATA_DATASETS_FILE_LIST_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "data/files/name_list.h"

namespace dtnn {

class FileList {
 public:
  // A folder or an archive that Add refers to by what this returns.
  int32_t AddContainer(std::string_view path);

  // A file in a folder, by its path relative to that.
  void Add(int32_t folder, std::string_view name);
  // A member of an archive.
  void Add(int32_t archive, std::string_view name, uint64_t offset, uint64_t size);

  int64_t size() const { return names_.size(); }
  // For messages: the path, or "<archive>: <member>".
  std::string Name(int64_t index) const;
  // All bytes; errors name the file. InvalidArgument for more than read_bytes.h's limit.
  absl::Status Read(int64_t index, std::vector<uint8_t>& bytes) const;

 private:
  struct Place {
    uint64_t offset, size;  // in an archive
    int32_t container;
    bool archived;
  };

  std::vector<std::string> containers_;
  NameList names_;
  std::vector<Place> places_;
};

}  // namespace dtnn

#endif  // DTNN_DATA_DATASETS_FILE_LIST_H_
