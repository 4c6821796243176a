#include "data/files/byte_source.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tensor/errors.h"
#include "tensor/files/input_file.h"

namespace dtnn {
namespace {

constexpr uint8_t kGzipMagic[2] = {0x1f, 0x8b};

class Memory : public ByteSource {
 public:
  explicit Memory(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  absl::StatusOr<size_t> Read(std::span<uint8_t> to) override {
    const size_t count = std::min(to.size(), bytes_.size());
    std::copy_n(bytes_.begin(), count, to.begin());
    bytes_ = bytes_.subspan(count);
    return count;
  }
  uint64_t bound() const override { return bytes_.size(); }

 private:
  std::span<const uint8_t> bytes_;
};

class File : public ByteSource {
 public:
  explicit File(InputFile file) : file_(std::move(file)), left_(uint64_t(file_.size())) {}

  absl::StatusOr<size_t> Read(std::span<uint8_t> to) override {
    DTNN_ASSIGN_OR_RETURN(const size_t count, file_.ReadUpTo(at_, std::as_writable_bytes(to)));
    at_ += int64_t(count);
    left_ -= std::min(left_, uint64_t{count});
    return count;
  }
  uint64_t bound() const override { return left_; }

 private:
  const InputFile file_;
  int64_t at_ = 0;
  uint64_t left_;
};

// `prefix`, which has been read from `rest` already, and what follows it.
class Prefixed : public ByteSource {
 public:
  Prefixed(std::span<const uint8_t> prefix, std::unique_ptr<ByteSource> rest)
      : size_(prefix.size()), rest_(std::move(rest)) {
    std::copy(prefix.begin(), prefix.end(), prefix_.begin());
  }

  absl::StatusOr<size_t> Read(std::span<uint8_t> to) override {
    const size_t count = std::min(to.size(), size_ - given_);
    std::copy_n(prefix_.begin() + given_, count, to.begin());
    given_ += count;
    if (count == to.size()) return count;
    DTNN_ASSIGN_OR_RETURN(const size_t more, rest_->Read(to.subspan(count)));
    return count + more;
  }
  uint64_t bound() const override { return size_ - given_ + rest_->bound(); }
  bool exact() const override { return rest_->exact(); }
  bool truncated() const override { return rest_->truncated(); }

 private:
  std::array<uint8_t, 2> prefix_ = {};
  size_t size_, given_ = 0;
  std::unique_ptr<ByteSource> rest_;
};

class Gunzip : public ByteSource {
 public:
  explicit Gunzip(std::unique_ptr<ByteSource> packed)
      : packed_(std::move(packed)), buffer_(kBuffer) {}
  ~Gunzip() override { inflateEnd(&stream_); }

  absl::Status Init() {
    constexpr int kLargestWindow = 15, kGzipOnly = 16;
    if (inflateInit2(&stream_, kLargestWindow + kGzipOnly) != Z_OK) {
      return absl::ResourceExhaustedError("not enough memory to unpack gzip");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<size_t> Read(std::span<uint8_t> to) override {
    size_t done = 0;
    while (done < to.size() && !ended_) {
      DTNN_RETURN_IF_ERROR(Refill());
      if (ended_) break;
      const size_t room = std::min(to.size() - done, kLargestStep);
      stream_.next_out = to.data() + done;
      stream_.avail_out = uInt(room);
      DTNN_RETURN_IF_ERROR(Inflate());
      done += room - stream_.avail_out;
    }
    return done;
  }

  // Deflate's densest code is a match of 258 bytes in 2 bits. What zlib has taken in and not given
  // out yet is less than the constant.
  uint64_t bound() const override {
    constexpr uint64_t kDensest = 1032, kInside = 8192;
    return ended_ ? 0 : (stream_.avail_in + packed_->bound()) * kDensest + kInside;
  }
  bool exact() const override { return false; }
  bool truncated() const override { return truncated_; }

 private:
  static constexpr size_t kBuffer = size_t{1} << 17;
  static constexpr size_t kLargestStep = size_t{1} << 30;

  // Makes sure that there is input, or sets ended_.
  absl::Status Refill() {
    if (stream_.avail_in > 0) return absl::OkStatus();
    DTNN_ASSIGN_OR_RETURN(const size_t count, packed_->Read(buffer_));
    stream_.next_in = buffer_.data();
    stream_.avail_in = uInt(count);
    ended_ = count == 0;
    truncated_ = ended_ && inside_member_;
    return absl::OkStatus();
  }

  absl::Status Inflate() {
    if (!inside_member_) {
      if (stream_.next_in[0] != kGzipMagic[0]) {
        return absl::DataLossError("there is other data after the end of the gzip data");
      }
      inflateReset(&stream_);
      inside_member_ = true;
    }
    const int result = inflate(&stream_, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      inside_member_ = false;
    } else if (result == Z_MEM_ERROR) {
      return absl::ResourceExhaustedError("not enough memory to unpack gzip");
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      return DataLoss("the gzip data is damaged (",
                      stream_.msg != nullptr ? stream_.msg : "unknown reason",
                      "); download it again");
    }
    return absl::OkStatus();
  }

  std::unique_ptr<ByteSource> packed_;
  std::vector<uint8_t> buffer_;
  z_stream stream_ = {};
  bool inside_member_ = true;
  bool ended_ = false;
  bool truncated_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> MemorySource(std::span<const uint8_t> bytes) {
  return std::make_unique<Memory>(bytes);
}

absl::StatusOr<std::unique_ptr<ByteSource>> FileSource(const std::string& path) {
  DTNN_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  return std::make_unique<File>(std::move(file));
}

bool IsGzip(std::span<const uint8_t> bytes) {
  return bytes.size() >= 2 && std::memcmp(bytes.data(), kGzipMagic, 2) == 0;
}

absl::StatusOr<std::unique_ptr<ByteSource>> Unpacked(std::unique_ptr<ByteSource> packed) {
  std::array<uint8_t, 2> start = {};
  DTNN_ASSIGN_OR_RETURN(const size_t count, packed->Read(start));
  auto whole = std::make_unique<Prefixed>(std::span(start).first(count), std::move(packed));
  if (!IsGzip(std::span(start).first(count))) return whole;
  auto source = std::make_unique<Gunzip>(std::move(whole));
  DTNN_RETURN_IF_ERROR(source->Init());
  return source;
}

}  // namespace dtnn
