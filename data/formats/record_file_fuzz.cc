// Any bytes as an archive of record files: members within the limits or a Status, and files of
// records that can be read or are refused.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "data/files/archive_reader.h"
#include "data/formats/record_file.h"

namespace {

using namespace dtnn;

void MakeAndRead(TargetKind kind, const std::vector<LoadedFile>& files) {
  const int64_t outputs = kind == TargetKind::kClass ? 4 : 1;
  const auto dataset = MakeRecordDataset({.name = "input",
                                          .sample = {.height = 2, .width = 1, .channels = 3},
                                          .outputs = outputs,
                                          .kind = kind},
                                         files, {});
  if (!dataset.ok()) return;
  const int64_t n = (*dataset)->size(Split::kTrain);
  for (int64_t i : {int64_t{0}, n - 1}) {
    if (n == 0) break;
    const Tensor x = *Tensor::Zeros(DType::kFloat32, Shape{1, 2, 1, 3});
    const Tensor targets =
        *Tensor::Zeros(TargetDType(**dataset, DType::kFloat32), TargetShape(**dataset, 1));
    const std::vector<int64_t> index = {i};
    if (!(*dataset)->Read(Split::kTrain, index, TensorFormat::kNHWC, x, targets).ok()) std::abort();
    if (kind == TargetKind::kClass && targets.data<int32_t>()[0] >= outputs) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint64_t kMember = 1 << 16, kTotal = 1 << 20;
  auto archive = ArchiveReader::Parse(
      {data, size}, "input", {.member_bytes = kMember, .total_bytes = kTotal, .members = 100});
  if (!archive.ok()) return 0;
  std::vector<LoadedFile> files;
  for (;;) {
    const absl::StatusOr<bool> more = archive->Next();
    if (!more.ok() || !*more) break;
    const std::string& name = archive->member();
    if (name.empty() || name[0] == '/' || ("/" + name + "/").find("/../") != std::string::npos) {
      std::abort();
    }
    if (archive->size() > kMember) std::abort();
    absl::StatusOr<std::vector<uint8_t>> bytes = archive->ReadAll();
    if (!bytes.ok()) break;
    if (bytes->size() != archive->size()) std::abort();
    files.push_back({name, *std::move(bytes)});
  }
  MakeAndRead(TargetKind::kClass, files);
  MakeAndRead(TargetKind::kValues, files);
  return 0;
}
