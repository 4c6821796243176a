// The format of a trace and of a profile, decided by the ending of its name.

#ifndef DTNN_MODELS_OBSERVE_TRACE_TRACE_FORM_H_
#define DTNN_MODELS_OBSERVE_TRACE_TRACE_FORM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dtnn {

enum class TraceForm : uint8_t {
  kChrome,   // chrome_trace.h
  kParaver,  // paraver.h
  kSimple,   // simple_trace.h
};

// .json, in any case, is kChrome, .prv kParaver; .csv, .txt, .trc and none are kSimple. nullopt for
// other endings.
std::optional<TraceForm> TraceFormOf(std::string_view path);

enum class ProfileForm : uint8_t { kJson, kCsv };

// .json and .csv, in any case.
std::optional<ProfileForm> ProfileFormOf(std::string_view path);

// Whether each rank is to write a file of its own: its name holds "{rank}".
bool NamesRank(std::string_view path);

// That file: with the rank's number in place of "{rank}".
std::string NumberedFile(std::string_view path, int rank);

// The file that a rank writes alone where it cannot write one with the others: "trace.rank3.json".
std::string FileOfRank(std::string_view path, int rank);

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_TRACE_TRACE_FORM_H_
