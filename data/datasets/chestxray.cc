#include "data/datasets/chestxray.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "data/datasets/file_list.h"
#include "data/datasets/image_dataset.h"
#include "data/files/folder_listing.h"
#include "data/files/read_bytes.h"
#include "data/files/tar_index.h"
#include "data/formats/csv.h"
#include "tensor/dtype.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 15> kFindings = {
    "Atelectasis",        "Cardiomegaly", "Consolidation", "Edema", "Effusion",   "Emphysema",
    "Fibrosis",           "Hernia",       "Infiltration",  "Mass",  "No Finding", "Nodule",
    "Pleural_Thickening", "Pneumonia",    "Pneumothorax"};

constexpr char kHowToGet[] =
    "Download ChestX-ray14 from https://nihcc.app.box.com/v/ChestXray-NIHCC: Data_Entry_2017.csv, "
    "train_val_list.txt, test_list.txt and images_01.tar.gz to images_12.tar.gz";

constexpr uint64_t kMaxTextBytes = uint64_t{1} << 28;

using Findings = std::unordered_map<std::string, uint16_t>;  // image to a bit per finding

absl::StatusOr<std::string> ReadText(const std::string& path) {
  std::vector<uint8_t> bytes;
  DTNN_RETURN_IF_ERROR(ReadBytes(path, bytes, kMaxTextBytes));
  return std::string(bytes.begin(), bytes.end());
}

absl::StatusOr<uint16_t> ParseFindings(std::string_view labels, const CsvReader& table) {
  uint16_t bits = 0;
  for (;;) {
    const size_t size = std::min(labels.find('|'), labels.size());
    const auto found = std::find(kFindings.begin(), kFindings.end(), labels.substr(0, size));
    if (found == kFindings.end()) {
      std::vector<std::string> known(kFindings.begin(), kFindings.end());
      return InvalidArgument(table.Place(), ": unknown finding \"", labels.substr(0, size),
                             "\"; expected ", absl::StrJoin(known, ", "));
    }
    bits |= uint16_t(1u << (found - kFindings.begin()));
    if (size == labels.size()) return bits;
    labels.remove_prefix(size + 1);
  }
}

absl::StatusOr<Findings> ReadTable(const fs::path& folder) {
  fs::path path = folder / "Data_Entry_2017.csv";
  DTNN_ASSIGN_OR_RETURN(PathKind kind, LookAt(path.string()));
  if (kind == PathKind::kNothing) {
    path = folder / "Data_Entry_2017_v2020.csv";
    DTNN_ASSIGN_OR_RETURN(kind, LookAt(path.string()));
  }
  if (kind == PathKind::kNothing) {
    return NotFound(folder.string(),
                    ": the folder contains neither Data_Entry_2017.csv nor "
                    "Data_Entry_2017_v2020.csv. ",
                    kHowToGet);
  }
  DTNN_ASSIGN_OR_RETURN(const std::string text, ReadText(path.string()));
  CsvReader table(text, path.string());
  std::vector<std::string> fields;
  DTNN_RETURN_IF_ERROR(table.Next(fields).status());
  DTNN_ASSIGN_OR_RETURN(const size_t image, FindColumn(fields, "Image Index", path.string()));
  DTNN_ASSIGN_OR_RETURN(const size_t labels, FindColumn(fields, "Finding Labels", path.string()));
  Findings findings;
  for (;;) {
    DTNN_ASSIGN_OR_RETURN(const bool more, table.Next(fields));
    if (!more) return findings;
    if (fields.size() <= std::max(image, labels)) {
      return InvalidArgument(table.Place(), ": has ", fields.size(),
                             " fields, fewer than the header's columns");
    }
    DTNN_ASSIGN_OR_RETURN(const uint16_t bits, ParseFindings(fields[labels], table));
    if (!findings.emplace(fields[image], bits).second) {
      return InvalidArgument(table.Place(), ": image ", fields[image], " is listed twice");
    }
  }
}

// Where each image is.
struct Images {
  FileList files;
  std::unordered_map<std::string, int64_t> by_name;  // to a place in files

  void Add(std::string_view name) { by_name.emplace(name, files.size() - 1); }

  absl::Status AddFolder(const fs::path& folder) {
    DTNN_ASSIGN_OR_RETURN(const PathKind kind, LookAt(folder.string()));
    if (kind != PathKind::kFolder) return absl::OkStatus();
    const int32_t container = files.AddContainer(folder.string());
    DTNN_ASSIGN_OR_RETURN(const std::vector<std::string> names, FilesIn(folder.string()));
    for (const std::string& name : names) {
      if (!name.ends_with(".png")) continue;
      files.Add(container, name);
      Add(name);
    }
    return absl::OkStatus();
  }

  absl::Status AddArchive(const std::string& path) {
    const int32_t container = files.AddContainer(path);
    return IndexTar(path, [&](const TarMember& member) {
      files.Add(container, member.name, member.offset, member.size);
      Add(std::string_view(member.name).substr(member.name.rfind('/') + 1));
      return absl::OkStatus();
    });
  }
};

bool Packed(const std::string& name) { return name.ends_with(".tar.gz") || name.ends_with(".tgz"); }

// `packed`: the first archive that cannot be used as it is, if any.
absl::StatusOr<Images> FindImages(const fs::path& folder, std::string& packed) {
  Images images;
  DTNN_RETURN_IF_ERROR(images.AddFolder(folder / "images"));
  DTNN_RETURN_IF_ERROR(images.AddFolder(folder));
  DTNN_ASSIGN_OR_RETURN(std::vector<std::string> more, FoldersIn(folder.string()));
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::string> archives, FilesIn(folder.string()));
  more.insert(more.end(), archives.begin(), archives.end());
  std::erase_if(more, [](const std::string& name) { return !name.starts_with("images_"); });
  std::sort(more.begin(), more.end());
  for (const std::string& name : more) {
    const fs::path path = folder / name;
    DTNN_RETURN_IF_ERROR(images.AddFolder(path));
    DTNN_RETURN_IF_ERROR(images.AddFolder(path / "images"));
    if (path.extension() == ".tar") DTNN_RETURN_IF_ERROR(images.AddArchive(path.string()));
    if (Packed(path.string()) && packed.empty()) packed = path.string();
  }
  return images;
}

struct Samples {
  Images images;
  std::vector<int64_t> places;  // in images
  std::vector<uint16_t> findings;
};

absl::Status Missing(const std::string& list, int64_t count, const std::string& first,
                     const std::string& packed) {
  return NotFound(
      list, ": ", count, " of its images are missing, the first is ", first,
      packed.empty()
          ? StrCat(". ", kHowToGet)
          : StrCat("; ", packed,
                   " cannot be read directly: unpack all archives of the folder (`tar -xzf`), "
                   "or decompress them to .tar (`gunzip`), which can be read directly"));
}

absl::StatusOr<Samples> OpenPart(const fs::path& folder, const char* list_name) {
  DTNN_ASSIGN_OR_RETURN(const Findings findings, ReadTable(folder));
  const std::string path = (folder / list_name).string();
  DTNN_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  Samples samples;
  std::string packed, first;
  DTNN_ASSIGN_OR_RETURN(samples.images, FindImages(folder, packed));
  int64_t missing = 0;
  CsvReader list(text, path);
  std::vector<std::string> fields;
  for (;;) {
    DTNN_ASSIGN_OR_RETURN(const bool more, list.Next(fields));
    if (!more) break;
    const auto found = findings.find(fields[0]);
    if (found == findings.end()) {
      return InvalidArgument(list.Place(), ": image ", fields[0],
                             " is missing from the table of findings");
    }
    const auto place = samples.images.by_name.find(fields[0]);
    if (place == samples.images.by_name.end()) {
      if (missing++ == 0) first = fields[0];
      continue;
    }
    samples.places.push_back(place->second);
    samples.findings.push_back(found->second);
  }
  if (missing > 0) return Missing(path, missing, first, packed);
  if (samples.places.empty()) {
    return InvalidArgument(path, ": lists no images");
  }
  samples.images.by_name = {};
  return samples;
}

class ChestXray : public ImageDataset {
 public:
  explicit ChestXray(const Geometry& geometry) : ImageDataset(geometry, 1) {}

  absl::Status Open(const ChestXrayOptions& options) {
    if (options.train.empty() && options.test.empty()) {
      return absl::InvalidArgumentError("chestxray: no path was given");
    }
    if (!options.train.empty()) {
      DTNN_ASSIGN_OR_RETURN(train_, OpenPart(options.train, "train_val_list.txt"));
    }
    if (!options.test.empty()) {
      DTNN_ASSIGN_OR_RETURN(test_, OpenPart(options.test, "test_list.txt"));
    }
    return Init(options.skip_damaged);
  }

  std::string_view name() const override { return "chestxray"; }
  int64_t outputs() const override { return int64_t(kFindings.size()); }
  TargetKind target_kind() const override { return TargetKind::kValues; }
  std::vector<std::string> class_names() const override {
    return {kFindings.begin(), kFindings.end()};
  }

 protected:
  int64_t listed(Split split) const override { return int64_t(samples(split).places.size()); }
  absl::Status ReadEncoded(Split split, int64_t index, std::vector<uint8_t>& bytes) const override {
    return samples(split).images.files.Read(samples(split).places[size_t(index)], bytes);
  }
  std::string FileName(Split split, int64_t index) const override {
    return samples(split).images.files.Name(samples(split).places[size_t(index)]);
  }
  absl::Status WriteTarget(Split split, int64_t index, std::span<const uint8_t>, int64_t row,
                           const Tensor& targets) const override {
    const uint16_t bits = samples(split).findings[size_t(index)];
    DispatchFloating(targets.dtype(), [&](auto zero) {
      using T = decltype(zero);
      T* to = targets.data<T>() + row * outputs();
      for (int i = 0; i < outputs(); ++i) to[i] = T(bits >> i & 1);
    });
    return absl::OkStatus();
  }

 private:
  const Samples& samples(Split split) const { return split == Split::kTrain ? train_ : test_; }

  Samples train_, test_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> OpenChestXray(const ChestXrayOptions& options) {
  auto chestxray = std::make_unique<ChestXray>(options.geometry);
  DTNN_RETURN_IF_ERROR(chestxray->Open(options));
  return chestxray;
}

}  // namespace dtnn
