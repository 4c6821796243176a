#include "data/testing/archives.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tensor/rounding.h"

namespace dtnn::testing {
namespace {

constexpr size_t kBlock = 512;

std::vector<uint8_t> Header(const Member& member) {
  std::vector<uint8_t> block(kBlock);
  char* text = reinterpret_cast<char*>(block.data());
  const int64_t size = member.claimed >= 0 ? member.claimed : int64_t(member.bytes.size());
  std::memcpy(text, member.name.data(), std::min<size_t>(member.name.size(), 99));
  std::snprintf(text + 100, 8, "0000644");
  std::snprintf(text + 108, 8, "0000000");
  std::snprintf(text + 116, 8, "0000000");
  std::snprintf(text + 124, 12, "%011llo", static_cast<unsigned long long>(size));
  std::snprintf(text + 136, 12, "00000000000");
  text[156] = member.type;
  if (member.type == '1' || member.type == '2') std::strcpy(text + 157, "/etc/passwd");
  std::memcpy(text + 257,
              "ustar\0"
              "00",
              8);
  std::memset(text + 148, ' ', 8);
  unsigned sum = 0;
  for (uint8_t byte : block) sum += byte;
  std::snprintf(text + 148, 8, "%06o", sum);
  return block;
}

}  // namespace

std::vector<uint8_t> TarBytes(const std::vector<Member>& members) {
  std::vector<uint8_t> tar;
  for (const Member& member : members) {
    const std::vector<uint8_t> header = Header(member);
    tar.insert(tar.end(), header.begin(), header.end());
    tar.insert(tar.end(), member.bytes.begin(), member.bytes.end());
    tar.resize(RoundUp(tar.size(), kBlock));
  }
  tar.resize(tar.size() + 2 * kBlock);
  return tar;
}

std::vector<uint8_t> ZipBytes(const std::vector<Member>& members) {
  size_t room = 4096;
  for (const Member& member : members) room += 2 * member.bytes.size() + 1024;
  std::vector<uint8_t> zip(room);
  size_t used = 0;
  archive* writer = archive_write_new();
  archive_write_set_format_zip(writer);
  archive_write_set_bytes_in_last_block(writer, 1);
  if (archive_write_open_memory(writer, zip.data(), zip.size(), &used) != ARCHIVE_OK) std::abort();
  for (const Member& member : members) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, member.name.c_str());
    archive_entry_set_size(entry, int64_t(member.bytes.size()));
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    if (archive_write_header(writer, entry) != ARCHIVE_OK) std::abort();
    archive_write_data(writer, member.bytes.data(), member.bytes.size());
    archive_entry_free(entry);
  }
  if (archive_write_close(writer) != ARCHIVE_OK) std::abort();
  archive_write_free(writer);
  zip.resize(used);
  return zip;
}

}  // namespace dtnn::testing
