#include <zip.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "tensor/errors.h"
#include "tensor/files/atomic_file.h"
#include "tensor/files/npy.h"
#include "tensor/files/npy_header.h"
#include "tensor/files/npy_text.h"
#include "tensor/files/npz.h"
#include "tensor/files/npz_name.h"

namespace dtnn {
namespace {

// Where libzip writes to: an AtomicFile, which it seeks in to complete the members' headers.
struct Sink {
  AtomicFile* file = nullptr;
  zip_error_t error = {};
  int64_t position = 0, size = 0;
  absl::Status status;  // of the first write that failed
};

zip_int64_t Write(Sink* sink, const void* data, zip_uint64_t length) {
  sink->status =
      sink->file->WriteAt(sink->position, {static_cast<const std::byte*>(data), size_t(length)});
  if (!sink->status.ok()) {
    zip_error_set(&sink->error, ZIP_ER_WRITE, 0);
    return -1;
  }
  sink->position += int64_t(length);
  sink->size = std::max(sink->size, sink->position);
  return zip_int64_t(length);
}

zip_int64_t Seek(Sink* sink, void* data, zip_uint64_t length) {
  const auto* seek = ZIP_SOURCE_GET_ARGS(zip_source_args_seek_t, data, length, &sink->error);
  if (seek == nullptr) return -1;
  const int64_t from = seek->whence == SEEK_SET   ? 0
                       : seek->whence == SEEK_CUR ? sink->position
                                                  : sink->size;
  if (seek->offset < -from) {
    zip_error_set(&sink->error, ZIP_ER_SEEK, 0);
    return -1;
  }
  sink->position = from + seek->offset;
  return 0;
}

// libzip's interface to a file, of which it only writes.
zip_int64_t SinkCommand(void* user, void* data, zip_uint64_t length, zip_source_cmd_t command) {
  Sink* sink = static_cast<Sink*>(user);
  switch (command) {
    case ZIP_SOURCE_SUPPORTS:
      return ZIP_SOURCE_SUPPORTS_WRITABLE;
    case ZIP_SOURCE_STAT: {  // an empty file
      auto* info = static_cast<zip_stat_t*>(data);
      zip_stat_init(info);
      info->size = 0;
      info->valid = ZIP_STAT_SIZE;
      return sizeof(*info);
    }
    case ZIP_SOURCE_ERROR:
      return zip_error_to_data(&sink->error, data, length);
    case ZIP_SOURCE_WRITE:
      return Write(sink, data, length);
    case ZIP_SOURCE_SEEK_WRITE:
      return Seek(sink, data, length);
    case ZIP_SOURCE_TELL_WRITE:
      return sink->position;
    case ZIP_SOURCE_BEGIN_WRITE:
    case ZIP_SOURCE_COMMIT_WRITE:
    case ZIP_SOURCE_ROLLBACK_WRITE:
    case ZIP_SOURCE_OPEN:
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_READ:  // nothing there
    case ZIP_SOURCE_FREE:
      return 0;
    default:
      zip_error_set(&sink->error, ZIP_ER_OPNOTSUPP, 0);
      return -1;
  }
}

// A member as it stands in the archive: its bytes, in two parts.
struct Member {
  std::string name;                      // with ending
  std::string head;                      // the header of an array, or all of a text
  std::span<const std::byte> data = {};  // of an array
};

absl::StatusOr<std::vector<Member>> Members(std::string_view path, const NamedTensors& tensors,
                                            const NamedTexts& texts, const NamedTexts& npy_files) {
  std::vector<Member> members;
  for (const auto& [name, tensor] : tensors) {
    DTNN_ASSIGN_OR_RETURN(const std::span<const std::byte> data,
                          WithContext(NpyData(tensor), path, ": array ", Quoted(name)));
    members.push_back({name, NpyHeaderBytes(tensor.dtype(), tensor.shape()), data});
  }
  for (const auto& [name, text] : texts) {
    DTNN_ASSIGN_OR_RETURN(std::string bytes, SerializeNpyText(text, StrCat(path, "/", name)));
    members.push_back({name, std::move(bytes)});
  }
  for (const auto& [name, bytes] : npy_files) members.push_back({name, bytes});
  std::set<std::string> names;
  for (Member& member : members) {
    member.name += kNpyEnding;
    DTNN_RETURN_IF_ERROR(CheckMemberName(path, member.name));
    constexpr size_t kMostName = std::numeric_limits<uint16_t>::max();
    if (member.name.size() > kMostName) {
      return InvalidArgument(path, ": the name ", Quoted(member.name), " has ", member.name.size(),
                             " bytes; names in an archive have at most ", kMostName);
    }
    if (!names.insert(member.name).second) {
      const std::string_view name = std::string_view(member.name);
      return InvalidArgument(path, ": two arrays are named ",
                             Quoted(name.substr(0, name.size() - kNpyEnding.size())));
    }
  }
  return members;
}

// Adds one member, which must live until the archive is closed.
bool AddMember(zip_t* archive, const Member& member, NpzCompression compression) {
  const auto bytes = [](const void* from) {  // libzip only reads them
    return static_cast<zip_uint8_t*>(const_cast<void*>(from));
  };
  const zip_buffer_fragment_t parts[] = {{bytes(member.head.data()), member.head.size()},
                                         {bytes(member.data.data()), member.data.size()}};
  zip_source_t* source = zip_source_buffer_fragment(archive, parts, member.data.empty() ? 1 : 2, 0);
  if (source == nullptr) return false;
  const zip_int64_t index = zip_file_add(archive, member.name.c_str(), source, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    zip_source_free(source);
    return false;
  }
  const int method = compression == NpzCompression::kStored ? ZIP_CM_STORE : ZIP_CM_DEFLATE;
  constexpr zip_uint16_t kMidnight = 0, kFirstOfJanuary1980 = 0x21;  // the same bytes on any day
  return zip_set_file_compression(archive, zip_uint64_t(index), method, 0) == 0 &&
         zip_file_set_dostime(archive, zip_uint64_t(index), kMidnight, kFirstOfJanuary1980, 0) == 0;
}

absl::Status WriteArchive(Sink* sink, std::string_view path, const std::vector<Member>& members,
                          NpzCompression compression) {
  const auto failed = [&](zip_error_t* error) {
    if (!sink->status.ok()) return sink->status;
    return absl::InternalError(StrCat(path, ": cannot be written: ", zip_error_strerror(error)));
  };
  zip_source_t* source = zip_source_function_create(SinkCommand, sink, &sink->error);
  if (source == nullptr) return failed(&sink->error);
  zip_t* archive = zip_open_from_source(source, ZIP_CREATE | ZIP_TRUNCATE, &sink->error);
  if (archive == nullptr) {
    zip_source_free(source);
    return failed(&sink->error);
  }
  bool ok = true;
  for (const Member& member : members) ok = ok && AddMember(archive, member, compression);
  if (ok && zip_close(archive) == 0) return absl::OkStatus();
  const absl::Status status = failed(zip_get_error(archive));
  zip_discard(archive);
  return status;
}

}  // namespace

absl::Status WriteNpz(std::string_view path, const NamedTensors& tensors,
                      NpzCompression compression, const NamedTexts& texts,
                      const NamedTexts& npy_files) {
  DTNN_ASSIGN_OR_RETURN(const std::vector<Member> members,
                        Members(path, tensors, texts, npy_files));
  DTNN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  if (members.empty()) {  // libzip would remove the file; an archive is at least its end record
    DTNN_RETURN_IF_ERROR(file.Append(std::string("PK\x05\x06") + std::string(18, '\0')));
    return file.Commit();
  }
  Sink sink;
  sink.file = &file;
  zip_error_init(&sink.error);
  const absl::Status status = WriteArchive(&sink, path, members, compression);
  zip_error_fini(&sink.error);
  DTNN_RETURN_IF_ERROR(status);
  return file.Commit();
}

}  // namespace dtnn
