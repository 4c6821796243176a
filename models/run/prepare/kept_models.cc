#include "models/run/prepare/kept_models.h"

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "comm/broadcast_text.h"
#include "models/parameters/weights.h"
#include "tensor/errors.h"
#include "tensor/files/atomic_file.h"
#include "tensor/files/make_folder.h"

namespace dtnn {

absl::Status MakeModelFolder(const std::string& folder) {
  if (folder.empty()) return absl::OkStatus();
  DTNN_RETURN_IF_ERROR(MakeFolder(
      folder, StrCat("RunOptions::schedule.model_folder=", folder, ": cannot create the folder")));
  const std::string trial = (std::filesystem::path(folder) / "model.npz").string();
  return WithContext(AtomicFile::Create(trial).status(),
                     "RunOptions::schedule.model_folder=", folder, ": cannot write models there");
}

int64_t Today() {
  const std::time_t now = std::time(nullptr);
  std::tm date = {};
  localtime_r(&now, &date);
  return (date.tm_year + 1900) * int64_t{10000} + (date.tm_mon + 1) * 100 + date.tm_mday;
}

namespace {

constexpr size_t kMostBytes = 128;

// Any text may be the name of a network.
std::string InFileName(std::string name) {
  if (name.size() > kMostBytes) {
    size_t bytes = kMostBytes;
    while (bytes > 0 && (name[bytes] & 0xc0) == 0x80) --bytes;  // no half of a letter in UTF-8
    name.resize(bytes);
  }
  std::ranges::replace_if(
      name, [](char c) { return c == '/' || c == '\0'; }, '-');
  return name;
}

// Returns the name.
absl::StatusOr<std::string> Write(const KeptModels& kept, int64_t epoch, const Graph& graph,
                                  const ParameterStore& store, DeviceContext& context,
                                  const Tensor& values, const std::string& previous) {
  const std::filesystem::path folder = kept.folder;
  const std::string stem = StrCat("model-", InFileName(graph.name()), "-epoch-");
  const std::string plain = StrCat(stem, epoch, "-", kept.date);
  std::string name = StrCat(plain, ".npz");
  const std::string old = std::filesystem::path(previous).filename().string();
  std::error_code ignored;
  for (int i = 2; name != old && std::filesystem::exists(folder / name, ignored); ++i) {
    name = StrCat(plain, "-", i, ".npz");
  }
  DTNN_RETURN_IF_ERROR(
      SaveWeights((folder / name).string(), graph, store, context, values, kept.tags));
  if (old.starts_with(stem) && old.ends_with(".npz") && old != name) {
    std::filesystem::remove(folder / old, ignored);
  }
  return name;
}

}  // namespace

absl::StatusOr<std::string> KeepModel(const KeptModels& kept, int64_t epoch, const Graph& graph,
                                      const ParameterStore& store, DeviceContext& context,
                                      const Tensor& values, const std::string& previous) {
  std::string name;
  if (kept.ranks == nullptr || kept.ranks->rank() == 0) {
    DTNN_ASSIGN_OR_RETURN(name, Write(kept, epoch, graph, store, context, values, previous));
  }
  if (kept.ranks != nullptr) {
    DTNN_ASSIGN_OR_RETURN(name, BroadcastText(*kept.ranks, name, /*root=*/0));
  }
  return (std::filesystem::path(kept.folder) / name).string();
}

}  // namespace dtnn
