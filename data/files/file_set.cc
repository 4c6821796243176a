#include "data/files/file_set.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "data/files/archive_reader.h"
#include "data/files/folder_listing.h"
#include "tensor/errors.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

// For messages; long lists are numbered files.
std::string NamesOf(const FileSet& set) {
  if (set.names.size() <= 8) return absl::StrJoin(set.names, ", ");
  return StrCat(set.names.front(), " to ", set.names.back());
}

namespace fs = std::filesystem;

// How many of the names to take, given which exist (one at least).
absl::StatusOr<size_t> Complete(const FileSet& set, const std::string& where,
                                const std::vector<bool>& exists) {
  size_t wanted = set.names.size();
  while (wanted > set.required && !exists[wanted - 1]) --wanted;
  std::vector<std::string> missing;
  for (size_t i = 0; i < wanted; ++i) {
    if (!exists[i]) missing.push_back(set.names[i]);
  }
  if (missing.empty()) return wanted;
  return NotFound(where,
                  ": contains only a part of the data set; missing: ", absl::StrJoin(missing, ", "),
                  ". ", set.how_to_get);
}

absl::StatusOr<LoadedFile> MapWhole(const std::string& path, uint64_t max_bytes) {
  DTNN_ASSIGN_OR_RETURN(FileBytes bytes, FileBytes::Map(path));
  if (bytes.size() > max_bytes) {
    return ResourceExhausted(path, ": is ", bytes.size(), " bytes long; at most ", max_bytes,
                             " are expected");
  }
  return LoadedFile{path, std::move(bytes)};
}

// The files in `folder`; an empty list when none of them is there.
absl::StatusOr<std::vector<LoadedFile>> FromFolder(const FileSet& set, const fs::path& folder) {
  std::vector<bool> exists(set.names.size());
  for (size_t i = 0; i < exists.size(); ++i) {
    DTNN_ASSIGN_OR_RETURN(const PathKind kind, LookAt((folder / set.names[i]).string()));
    exists[i] = kind != PathKind::kNothing;
  }
  if (std::find(exists.begin(), exists.end(), true) == exists.end()) {
    return std::vector<LoadedFile>();
  }
  DTNN_ASSIGN_OR_RETURN(const size_t wanted, Complete(set, folder.string(), exists));
  std::vector<absl::StatusOr<LoadedFile>> read(wanted, absl::UnknownError("not read"));
  ParallelFor(0, int64_t(wanted), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      read[i] = MapWhole((folder / set.names[i]).string(), set.max_file_bytes);
    }
  });
  std::vector<LoadedFile> files;
  for (absl::StatusOr<LoadedFile>& file : read) {
    if (!file.ok()) return file.status();
    files.push_back(*std::move(file));
  }
  return files;
}

absl::StatusOr<std::vector<LoadedFile>> FromArchive(const FileSet& set, const std::string& path) {
  DTNN_ASSIGN_OR_RETURN(ArchiveReader archive,
                        ArchiveReader::Open(path, {.member_bytes = set.max_file_bytes,
                                                   .total_bytes = set.max_total_bytes}));
  std::vector<LoadedFile> files(set.names.size());
  std::vector<bool> exists(files.size());
  for (;;) {
    DTNN_ASSIGN_OR_RETURN(const bool more, archive.Next());
    if (!more) break;
    for (size_t i = 0; i < files.size(); ++i) {
      const std::string& member = archive.member();
      if (member != set.names[i] && member != set.folder + "/" + set.names[i]) continue;
      if (exists[i]) {
        return InvalidArgument(path, ": contains ", set.names[i], " twice");
      }
      exists[i] = true;
      files[i].where = StrCat(path, ": ", member);
      DTNN_ASSIGN_OR_RETURN(files[i].bytes, archive.ReadAll());
      break;
    }
  }
  if (std::find(exists.begin(), exists.end(), true) == exists.end()) {
    return NotFound(path, ": the archive contains none of ", NamesOf(set),
                    ", neither at its top nor in ", set.folder, "/. ", set.how_to_get);
  }
  DTNN_ASSIGN_OR_RETURN(const size_t wanted, Complete(set, path, exists));
  files.resize(wanted);
  return files;
}

}  // namespace

absl::StatusOr<std::vector<LoadedFile>> LoadFiles(const FileSet& set, const std::string& path) {
  DTNN_ASSIGN_OR_RETURN(const PathKind kind, LookAt(path));
  if (kind == PathKind::kFile) return FromArchive(set, path);
  if (kind == PathKind::kNothing) {
    return NotFound(path, ": no such folder or archive; expected ", set.archive,
                    " or a folder that contains it. ", set.how_to_get);
  }
  const fs::path folder = path;
  for (const fs::path& place : {folder, folder / set.folder}) {
    DTNN_ASSIGN_OR_RETURN(std::vector<LoadedFile> files, FromFolder(set, place));
    if (!files.empty()) return files;
  }
  const fs::path archive = folder / set.archive;
  DTNN_ASSIGN_OR_RETURN(const PathKind packed, LookAt(archive.string()));
  if (packed == PathKind::kFile) return FromArchive(set, archive.string());
  return NotFound(path, ": the folder contains none of ", NamesOf(set), ", no folder ", set.folder,
                  " with them and no ", set.archive, ". ", set.how_to_get);
}

}  // namespace dtnn
