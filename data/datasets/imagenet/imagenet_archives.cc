#include "data/datasets/imagenet/imagenet_archives.h"

#include <algorithm>
#include <filesystem>

#include "absl/status/status.h"
#include "data/datasets/imagenet/imagenet_synsets.h"
#include "data/files/folder_listing.h"
#include "data/files/tar_index.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;

constexpr char kHowToGet[] =
    "Download the archives of ImageNet's 2012 challenge from https://image-net.org/download-images "
    "(needs an account)";

absl::StatusOr<std::string> Archive(const std::string& folder, const char* name) {
  const std::string path = (fs::path(folder) / name).string();
  DTNN_ASSIGN_OR_RETURN(const PathKind kind, LookAt(path));
  if (kind != PathKind::kNothing) return path;
  return NotFound(path, ": no such file. ", kHowToGet);
}

// In the order of the archive.
absl::StatusOr<std::vector<TarMember>> Members(const std::string& path) {
  std::vector<TarMember> members;
  DTNN_RETURN_IF_ERROR(IndexTar(path, [&](const TarMember& member) {
    members.push_back(member);
    return absl::OkStatus();
  }));
  if (members.empty()) return InvalidArgument(path, ": contains no files");
  return members;
}

// "n01440764" of "n01440764.tar".
absl::StatusOr<std::string> ClassOf(const std::string& path, const std::string& member) {
  if (member.size() > 4 && member.ends_with(".tar")) return member.substr(0, member.size() - 4);
  return InvalidArgument(path, ": member ", member,
                         " is not an archive of a class, expected n01440764.tar");
}

absl::Status IndexTraining(const std::string& folder, ImagenetArchives& archives) {
  DTNN_ASSIGN_OR_RETURN(const std::string path, Archive(folder, kImagenetTrainTar));
  DTNN_ASSIGN_OR_RETURN(std::vector<TarMember> classes, Members(path));
  std::sort(classes.begin(), classes.end(),
            [](const TarMember& a, const TarMember& b) { return a.name < b.name; });
  const bool known = !archives.names.empty();
  const int32_t container = archives.train.files.AddContainer(path);
  for (const TarMember& of_class : classes) {
    DTNN_ASSIGN_OR_RETURN(const std::string name, ClassOf(path, of_class.name));
    if (!known) {
      archives.names.push_back(name);
      archives.words.push_back(name);
    }
    const auto at = std::lower_bound(archives.names.begin(), archives.names.end(), name);
    if (at == archives.names.end() || *at != name) {
      return InvalidArgument(path, ": class ", name, " is not listed in the development kit");
    }
    DTNN_RETURN_IF_ERROR(IndexTarMember(path, of_class, [&](const TarMember& image) {
      archives.train.files.Add(container, StrCat(of_class.name, "/", image.name), image.offset,
                               image.size);
      return absl::OkStatus();
    }));
    archives.train.labels.resize(size_t(archives.train.files.size()),
                                 int32_t(at - archives.names.begin()));
  }
  return absl::OkStatus();
}

absl::Status IndexValidation(const std::string& folder, const std::vector<int32_t>& labels,
                             LabelledFiles& validation) {
  DTNN_ASSIGN_OR_RETURN(const std::string path, Archive(folder, kImagenetValidationTar));
  DTNN_ASSIGN_OR_RETURN(std::vector<TarMember> images, Members(path));
  if (images.size() != labels.size()) {
    return InvalidArgument(path, ": contains ", images.size(),
                           " images but the development kit has ", labels.size(),
                           " validation labels; is the download complete?");
  }
  // Their numbers have leading zeros.
  std::sort(images.begin(), images.end(),
            [](const TarMember& a, const TarMember& b) { return a.name < b.name; });
  const int32_t container = validation.files.AddContainer(path);
  for (const TarMember& image : images) {
    validation.files.Add(container, image.name, image.offset, image.size);
  }
  validation.labels = labels;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ImagenetArchives> IndexImagenet(const std::string& train,
                                               const std::string& validation) {
  ImagenetArchives archives;
  const auto kit = ReadImagenetSynsets(validation.empty() ? train : validation);
  if (kit.ok()) {
    archives.names = kit->names;
    archives.words = kit->words;
  } else if (!validation.empty() || kit.status().code() != absl::StatusCode::kNotFound) {
    return kit.status();
  }
  if (!train.empty()) DTNN_RETURN_IF_ERROR(IndexTraining(train, archives));
  if (!validation.empty()) {
    DTNN_RETURN_IF_ERROR(IndexValidation(validation, kit->validation, archives.validation));
  }
  return archives;
}

}  // namespace dtnn
