#include "data/imagenet_tar.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "data/file_list.h"
#include "data/image_dataset.h"
#include "data/imagenet_synsets.h"
#include "data/tar_index.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;

constexpr char kHowToGet[] =
    "The archives of ImageNet's 2012 challenge are found at https://image-net.org/download-images, "
    "for those with an account there";

struct Samples {
  FileList files;
  std::vector<int32_t> labels;
};

absl::StatusOr<std::string> Archive(const std::string& folder, const char* name) {
  const std::string path = (fs::path(folder) / name).string();
  std::error_code error;
  if (fs::exists(path, error)) return path;
  return absl::NotFoundError(absl::StrCat(path, ": there is no such file. ", kHowToGet));
}

// In the order of the archive.
absl::StatusOr<std::vector<TarMember>> Members(const std::string& path) {
  std::vector<TarMember> members;
  DTNN_RETURN_IF_ERROR(IndexTar(path, [&](const TarMember& member) {
    members.push_back(member);
    return absl::OkStatus();
  }));
  if (members.empty()) return absl::InvalidArgumentError(absl::StrCat(path, ": holds no files"));
  return members;
}

// "n01440764" of "n01440764.tar".
absl::StatusOr<std::string> ClassOf(const std::string& path, const std::string& member) {
  if (member.size() > 4 && member.ends_with(".tar")) return member.substr(0, member.size() - 4);
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": member ", member, " is no archive of a class, expected n01440764.tar"));
}

class ImagenetTar : public ImageDataset {
 public:
  explicit ImagenetTar(const Geometry& geometry) : ImageDataset(geometry, 3) {}

  absl::Status Open(const ImagenetTarOptions& options) {
    if (options.train.empty() && options.test.empty()) {
      return absl::InvalidArgumentError("imagenet: no path was given");
    }
    if (options.geometry.resize == 0) {
      return absl::InvalidArgumentError(
          "imagenet: the images in its archives differ in size: set --transform-resize and "
          "--transform-resize-size (224 for most networks)");
    }
    const auto kit = ReadImagenetSynsets(options.test.empty() ? options.train : options.test);
    if (kit.ok()) {
      names_ = kit->names;
      words_ = kit->words;
    } else if (!options.test.empty() || kit.status().code() != absl::StatusCode::kNotFound) {
      return kit.status();
    }
    if (!options.train.empty()) DTNN_RETURN_IF_ERROR(OpenTraining(options.train));
    if (!options.test.empty()) DTNN_RETURN_IF_ERROR(OpenValidation(options.test, kit->validation));
    return Init();
  }

  std::string_view name() const override { return "imagenet"; }
  int64_t outputs() const override { return int64_t(names_.size()); }
  std::vector<std::string> class_names() const override { return words_; }
  int64_t size(Part part) const override { return samples(part).files.size(); }

 protected:
  absl::Status ReadEncoded(Part part, int64_t index, std::vector<uint8_t>& bytes) const override {
    return samples(part).files.Read(index, bytes);
  }
  std::string FileName(Part part, int64_t index) const override {
    return samples(part).files.Name(index);
  }
  void WriteTarget(Part part, int64_t index, int64_t row, const Tensor& targets) const override {
    targets.data<int32_t>()[row] = samples(part).labels[size_t(index)];
  }

 private:
  const Samples& samples(Part part) const { return part == Part::kTrain ? train_ : test_; }
  absl::Status OpenTraining(const std::string& folder);
  absl::Status OpenValidation(const std::string& folder, const std::vector<int32_t>& labels);

  std::vector<std::string> names_, words_;
  Samples train_, test_;
};

absl::Status ImagenetTar::OpenTraining(const std::string& folder) {
  DTNN_ASSIGN_OR_RETURN(const std::string path, Archive(folder, kImagenetTrainTar));
  DTNN_ASSIGN_OR_RETURN(std::vector<TarMember> classes, Members(path));
  std::sort(classes.begin(), classes.end(),
            [](const TarMember& a, const TarMember& b) { return a.name < b.name; });
  const bool known = !names_.empty();
  const int32_t container = train_.files.AddContainer(path);
  for (const TarMember& of_class : classes) {
    DTNN_ASSIGN_OR_RETURN(const std::string name, ClassOf(path, of_class.name));
    if (!known) {
      names_.push_back(name);
      words_.push_back(name);
    }
    const auto at = std::lower_bound(names_.begin(), names_.end(), name);
    if (at == names_.end() || *at != name) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": class ", name, " is none of the development kit's"));
    }
    DTNN_RETURN_IF_ERROR(
        IndexTarRange(path, of_class.offset, of_class.size, [&](const TarMember& image) {
          train_.files.Add(container, absl::StrCat(of_class.name, "/", image.name), image.offset,
                           image.size);
          return absl::OkStatus();
        }));
    train_.labels.resize(size_t(train_.files.size()), int32_t(at - names_.begin()));
  }
  return absl::OkStatus();
}

absl::Status ImagenetTar::OpenValidation(const std::string& folder,
                                         const std::vector<int32_t>& labels) {
  DTNN_ASSIGN_OR_RETURN(const std::string path, Archive(folder, kImagenetValidationTar));
  DTNN_ASSIGN_OR_RETURN(std::vector<TarMember> images, Members(path));
  if (images.size() != labels.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": holds ", images.size(), " images but the development kit has ",
                     labels.size(), " validation labels; is the download complete?"));
  }
  // Their numbers have leading zeros.
  std::sort(images.begin(), images.end(),
            [](const TarMember& a, const TarMember& b) { return a.name < b.name; });
  const int32_t container = test_.files.AddContainer(path);
  for (const TarMember& image : images) {
    test_.files.Add(container, image.name, image.offset, image.size);
  }
  test_.labels = labels;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> OpenImagenetTar(const ImagenetTarOptions& options) {
  auto imagenet = std::make_unique<ImagenetTar>(options.geometry);
  DTNN_RETURN_IF_ERROR(imagenet->Open(options));
  return imagenet;
}

}  // namespace dtnn
