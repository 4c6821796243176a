#include "data/formats/idx.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "tensor/errors.h"
#include "tensor/files/bytes/known_contents.h"

namespace dtnn {
namespace {

constexpr uint8_t kUnsignedByte = 8;
constexpr int kMaxRank = 4;

struct Header {
  Shape shape;
  uint64_t bytes = 0;  // the product of the extents
};

// "60000 images of 28x28", "10000 values".
std::string Describe(const Shape& shape) {
  std::string text = StrCat(shape[0]);
  if (shape.rank() == 1) return StrCat(text, " values");
  StrAppend(&text, shape.rank() == 2 ? " rows of " : " images of ");
  for (int axis = 1; axis < shape.rank(); ++axis) {
    StrAppend(&text, axis > 1 ? "x" : "", shape[axis]);
  }
  return text;
}

absl::Status WrongLength(const Header& header, std::string_view holds, std::string_view advice) {
  return DataLoss("header promises ", Describe(header.shape), " (", header.bytes,
                  " bytes) but the file contains ", holds, advice);
}

absl::Status TooShort(const Header& header, uint64_t holds) {
  return WrongLength(header, StrCat(holds), "; is the download complete?");
}

absl::Status TooLong(const Header& header, std::string_view holds) {
  return WrongLength(header, holds, "; its header or its end is damaged");
}

// Reads exactly to.size() bytes of the header.
absl::Status ReadHeaderBytes(ByteSource& source, std::span<uint8_t> to) {
  DTNN_ASSIGN_OR_RETURN(const size_t count, source.Read(to));
  if (count == to.size()) return absl::OkStatus();
  return absl::DataLossError("ends inside the IDX header; is the download complete?");
}

absl::StatusOr<Header> ReadHeader(ByteSource& source, uint64_t max_bytes) {
  std::array<uint8_t, 4> magic;
  if (source.exact() && source.bound() == 0) {
    return absl::DataLossError("is empty; is the download complete?");
  }
  DTNN_RETURN_IF_ERROR(ReadHeaderBytes(source, magic));
  if (magic[0] != 0 || magic[1] != 0) {
    std::array<uint8_t, kKnownContentsBytes> start = {};
    std::ranges::copy(magic, start.begin());
    DTNN_ASSIGN_OR_RETURN(const size_t more, source.Read(std::span(start).subspan(magic.size())));
    const std::string_view contents =
        KnownContents(std::as_bytes(std::span(start).first(magic.size() + more)));
    if (!contents.empty()) return InvalidArgument("is ", contents, "; expected an IDX file");
    return absl::InvalidArgumentError(
        absl::StrFormat("is not an IDX file: it starts with bytes %02x %02x %02x %02x, expected 00 "
                        "00 08 and the rank",
                        magic[0], magic[1], magic[2], magic[3]));
  }
  if (magic[2] != kUnsignedByte) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "has elements of IDX type %02x; only unsigned bytes (08) can be read", magic[2]));
  }
  const int rank = magic[3];
  if (rank < 1 || rank > kMaxRank) {
    return InvalidArgument("has rank ", rank, "; expected 1 to ", kMaxRank);
  }
  std::array<uint8_t, 4 * kMaxRank> sizes;
  DTNN_RETURN_IF_ERROR(ReadHeaderBytes(source, std::span(sizes).first(4 * rank)));
  std::array<int64_t, kMaxRank> extents;
  for (int axis = 0; axis < rank; ++axis) {
    const uint8_t* at = sizes.data() + 4 * axis;
    extents[axis] = int64_t{at[0]} << 24 | at[1] << 16 | at[2] << 8 | at[3];
  }
  Header header;
  DTNN_ASSIGN_OR_RETURN(header.shape,
                        WithContext(Shape::Make(std::span(extents).first(rank)), "header"));
  header.bytes = uint64_t(header.shape.NumElements());
  if (header.bytes > max_bytes) {
    return InvalidArgument("header promises ", Describe(header.shape), " (", header.bytes,
                           " bytes), more than the ", max_bytes, " that are allowed");
  }
  return header;
}

// The bytes left in a source that cannot hold as many as the header promises.
absl::StatusOr<uint64_t> CountRest(ByteSource& source) {
  if (source.exact()) return source.bound();
  std::vector<uint8_t> scratch(size_t{1} << 16);
  for (uint64_t total = 0;;) {
    DTNN_ASSIGN_OR_RETURN(const size_t count, source.Read(scratch));
    total += count;
    if (count < scratch.size()) return total;
  }
}

// The header of a source that has, as far as is known, the elements that it promises.
absl::StatusOr<Header> ReadTrueHeader(ByteSource& source, uint64_t max_bytes) {
  DTNN_ASSIGN_OR_RETURN(const Header header, ReadHeader(source, max_bytes));
  if (source.bound() < header.bytes) {
    DTNN_ASSIGN_OR_RETURN(const uint64_t holds, CountRest(source));
    return TooShort(header, holds);
  }
  if (source.exact() && source.bound() > header.bytes) {
    return TooLong(header, StrCat(source.bound()));
  }
  return header;
}

absl::StatusOr<Tensor> ReadArray(ByteSource& source, uint64_t max_bytes) {
  DTNN_ASSIGN_OR_RETURN(const Header header, ReadTrueHeader(source, max_bytes));
  DTNN_ASSIGN_OR_RETURN(Tensor array, Tensor::Allocate(Device::Cpu(), DType::kUint8, header.shape));
  DTNN_ASSIGN_OR_RETURN(const size_t count, source.Read({array.data<uint8_t>(), header.bytes}));
  if (count < header.bytes) return TooShort(header, count);
  // The end of a gzip stream, with its checksum, is only looked at when more is asked for.
  uint8_t more;
  DTNN_ASSIGN_OR_RETURN(const size_t surplus, source.Read({&more, 1}));
  if (surplus > 0) return TooLong(header, "more");
  if (source.truncated()) {
    return absl::DataLossError("ends before the gzip checksum; is the download complete?");
  }
  return array;
}

}  // namespace

absl::StatusOr<Tensor> ParseIdx(std::unique_ptr<ByteSource> bytes, std::string_view name,
                                uint64_t max_bytes) {
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<ByteSource> source,
                        WithContext(Unpacked(std::move(bytes)), name));
  return WithContext(ReadArray(*source, max_bytes), name);
}

absl::StatusOr<Tensor> ReadIdx(const std::string& path, uint64_t max_bytes) {
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> file, FileSource(path));
  return ParseIdx(std::move(file), path, max_bytes);
}

absl::StatusOr<IdxArray> MapIdx(const std::string& path, uint64_t max_bytes) {
  DTNN_ASSIGN_OR_RETURN(const FileBytes file, FileBytes::Map(path));
  if (IsGzip(file.view())) {
    DTNN_ASSIGN_OR_RETURN(const Tensor array, ReadIdx(path, max_bytes));
    return IdxArray{array.shape(), FileBytes(array.buffer(), {array.data<uint8_t>(),
                                                              size_t(array.num_elements())})};
  }
  const std::unique_ptr<ByteSource> source = MemorySource(file.view());
  DTNN_ASSIGN_OR_RETURN(const Header header, WithContext(ReadTrueHeader(*source, max_bytes), path));
  return IdxArray{header.shape, file.From(file.size() - header.bytes)};
}

}  // namespace dtnn
