#include "data/datasets/file_list.h"

#include "data/files/read_bytes.h"
#include "tensor/errors.h"

namespace dtnn {

int32_t FileList::AddContainer(std::string_view path) {
  containers_.emplace_back(path);
  return int32_t(containers_.size()) - 1;
}

void FileList::Add(int32_t folder, std::string_view name) {
  names_.Add(name);
  places_.push_back({0, 0, folder, false});
}

void FileList::Add(int32_t archive, std::string_view name, uint64_t offset, uint64_t size) {
  names_.Add(name);
  places_.push_back({offset, size, archive, true});
}

std::string FileList::Name(int64_t index) const {
  const Place& place = places_[size_t(index)];
  return StrCat(containers_[size_t(place.container)], place.archived ? ": " : "/", names_[index]);
}

absl::Status FileList::Read(int64_t index, std::vector<uint8_t>& bytes) const {
  const Place& place = places_[size_t(index)];
  if (!place.archived) return ReadBytes(Name(index), bytes);
  if (place.size > kMaxImageFileBytes) {
    return InvalidArgument(Name(index), ": has ", place.size, " bytes, more than the ",
                           kMaxImageFileBytes, " that are allowed");
  }
  bytes.resize(place.size);
  return ReadBytesAt(containers_[size_t(place.container)], place.offset, bytes);
}

}  // namespace dtnn
