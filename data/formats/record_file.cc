#include "data/formats/record_file.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "data/class_warnings.h"
#include "data/images/image_bytes.h"
#include "tensor/dtype.h"
#include "tensor/errors.h"
#include "tensor/shape.h"

namespace dtnn {
namespace {

static_assert(std::endian::native == std::endian::little, "labels are read in place");

// The records of one split, file after file.
struct Records {
  std::vector<LoadedFile> files;
  std::vector<int64_t> begins = {0};  // of each file among the records, and their number
  // Copies: a mapped file may be written to behind their checks.
  std::vector<float> labels = {};

  int64_t size() const { return begins.back(); }
  // Whether all that was read of the files was there.
  absl::Status Check() const {
    for (const LoadedFile& file : files) DTNN_RETURN_IF_ERROR(file.bytes.Check());
    return absl::OkStatus();
  }
};

class RecordDataset : public Dataset {
 public:
  static constexpr TensorFormat kFormat = TensorFormat::kNCHW;

  RecordDataset(const RecordFormat& format, int64_t label_bytes, Records train, Records test)
      : format_(format),
        label_bytes_(label_bytes),
        train_(std::move(train)),
        test_(std::move(test)) {}

  std::string_view name() const override { return format_.name; }
  ImageExtents sample() const override { return format_.sample; }
  int64_t outputs() const override { return format_.outputs; }
  TargetKind target_kind() const override { return format_.kind; }
  std::vector<std::string> class_names() const override { return format_.class_names; }
  int64_t size(Split split) const override { return records(split).size(); }
  std::vector<int32_t> labels(Split split) const override {
    if (format_.kind != TargetKind::kClass) return {};
    return {records(split).labels.begin(), records(split).labels.end()};
  }
  std::vector<std::string> warnings() const override { return ClassWarnings(*this); }
  std::optional<TensorFormat> byte_format() const override { return kFormat; }

  absl::Status Read(Split split, std::span<const int64_t> indices, TensorFormat format,
                    const Tensor& x, const Tensor& targets) const override {
    DTNN_RETURN_IF_ERROR(CheckRead(*this, split, indices, format, x, targets));
    const size_t pixels = size_t(ByteCount(format_.sample));
    for (size_t i = 0; i < indices.size(); ++i) {
      const uint8_t* record = Record(records(split), indices[i]);
      PutImage({record + label_bytes_, pixels}, kFormat, format_.sample, format, x, int64_t(i));
      const float label = records(split).labels[size_t(indices[i])];
      if (format_.kind == TargetKind::kClass) {
        targets.data<int32_t>()[i] = int32_t(label);
        continue;
      }
      DispatchFloating(targets.dtype(), [&]<typename T>(T) { targets.data<T>()[i] = T(label); });
    }
    return records(split).Check();
  }

  absl::Status ReadLabels() {
    for (Records* split : {&train_, &test_}) {
      split->labels.reserve(size_t(split->size()));
      for (size_t file = 0; file < split->files.size(); ++file) {
        for (int64_t i = split->begins[file]; i < split->begins[file + 1]; ++i) {
          const float label = split->labels.emplace_back(Label(Record(*split, i)));
          const std::string& where = split->files[file].where;
          const int64_t at = i - split->begins[file];
          if (format_.kind == TargetKind::kClass && int64_t(label) >= format_.outputs) {
            return InvalidArgument(where, ": the label of record ", at, " is ", label,
                                   "; expected 0 to ", format_.outputs - 1);
          }
          if (format_.kind == TargetKind::kValues && !std::isfinite(label)) {
            return InvalidArgument(where, ": the value of record ", at, " is not finite");
          }
        }
      }
      DTNN_RETURN_IF_ERROR(split->Check());
    }
    return absl::OkStatus();
  }

 private:
  const Records& records(Split split) const { return split == Split::kTrain ? train_ : test_; }

  const uint8_t* Record(const Records& records, int64_t index) const {
    const auto next = std::upper_bound(records.begins.begin(), records.begins.end(), index);
    const size_t file = size_t(next - records.begins.begin()) - 1;
    const size_t bytes = size_t(label_bytes_ + ByteCount(format_.sample));
    return records.files[file].bytes.data() + size_t(index - records.begins[file]) * bytes;
  }

  float Label(const uint8_t* record) const {
    if (label_bytes_ == 1) return *record;
    float value;
    std::memcpy(&value, record, sizeof(value));
    return value;
  }

  const RecordFormat format_;
  const int64_t label_bytes_;
  Records train_, test_;
};

// Whether the files hold whole records of that many bytes, one at least.
absl::Status CheckLengths(const std::vector<LoadedFile>& files, int64_t record_bytes) {
  for (const LoadedFile& file : files) {
    if (!file.bytes.empty() && file.bytes.size() % size_t(record_bytes) == 0) continue;
    return InvalidArgument(file.where, ": contains ", file.bytes.size(),
                           " bytes, which is not a whole number of records of ", record_bytes,
                           " bytes; is the download complete?");
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> LabelBytes(const RecordFormat& format, const std::vector<LoadedFile>& train,
                                   const std::vector<LoadedFile>& test) {
  const auto check = [&](int64_t label_bytes) {
    absl::Status status = CheckLengths(train, label_bytes + ByteCount(format.sample));
    if (status.ok()) status = CheckLengths(test, label_bytes + ByteCount(format.sample));
    return status;
  };
  const absl::Status byte = check(1);
  if (byte.ok()) return 1;
  if (format.kind == TargetKind::kValues && check(sizeof(float)).ok()) return sizeof(float);
  return byte;
}

Records Join(std::vector<LoadedFile> files, int64_t record_bytes) {
  Records records = {.files = std::move(files)};
  for (const LoadedFile& file : records.files) {
    records.begins.push_back(records.size() + int64_t(file.bytes.size()) / record_bytes);
  }
  return records;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> MakeRecordDataset(const RecordFormat& format,
                                                           std::vector<LoadedFile> train,
                                                           std::vector<LoadedFile> test) {
  DTNN_ASSIGN_OR_RETURN(const int64_t label_bytes, LabelBytes(format, train, test));
  const int64_t record_bytes = label_bytes + ByteCount(format.sample);
  auto dataset =
      std::make_unique<RecordDataset>(format, label_bytes, Join(std::move(train), record_bytes),
                                      Join(std::move(test), record_bytes));
  DTNN_RETURN_IF_ERROR(dataset->ReadLabels());
  return dataset;
}

absl::StatusOr<std::unique_ptr<Dataset>> LoadRecordSet(const RecordSet& set,
                                                       const RecordPaths& paths) {
  if (paths.train.empty() && paths.test.empty()) {
    return InvalidArgument(set.format.name, ": no folder and no archive was given");
  }
  FileSet wanted = set.files;
  std::vector<LoadedFile> train, test;
  if (paths.train == paths.test) {  // an archive is unpacked once
    wanted.names = set.test;
    wanted.names.insert(wanted.names.end(), set.train.begin(), set.train.end());
    wanted.required = set.test.size() + std::min(set.train_required, set.train.size());
    DTNN_ASSIGN_OR_RETURN(test, LoadFiles(wanted, paths.test));
    const auto middle = test.begin() + int64_t(set.test.size());
    train.assign(std::move_iterator(middle), std::move_iterator(test.end()));
    test.erase(middle, test.end());
    return MakeRecordDataset(set.format, std::move(train), std::move(test));
  }
  if (!paths.train.empty()) {
    wanted.names = set.train;
    wanted.required = set.train_required;
    DTNN_ASSIGN_OR_RETURN(train, LoadFiles(wanted, paths.train));
  }
  if (!paths.test.empty()) {
    wanted.names = set.test;
    wanted.required = set.test.size();
    DTNN_ASSIGN_OR_RETURN(test, LoadFiles(wanted, paths.test));
  }
  return MakeRecordDataset(set.format, std::move(train), std::move(test));
}

}  // namespace dtnn
