// Answers requests for predictions, by HTTP: docs/serving.md.

#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/flags/option_table.h"
#include "apps/flags/tool_flags.h"
#include "apps/help/tool_help.h"
#include "apps/program/log.h"
#include "apps/program/paths.h"
#include "apps/program/run_program.h"
#include "apps/serve/run.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

constexpr ProgramText kProgramText = {
    .name = "serve",
    .does = "answers requests for predictions, by HTTP",
    .text =
        "serve --model-file=FILE [--model-file=FILE]... [--port=PORT]\n"
        "\n"
        "Answers requests for predictions with trained models, by HTTP: the Open Inference\n"
        "Protocol (version 2), images as files (/classify), a page (/), metrics for Prometheus\n"
        "(/metrics): docs/serving.md. A model's name is that of its file. SIGHUP loads the\n"
        "files again, SIGTERM and Ctrl-C end the server after its answers.\n"
        "\n"
        "  serve --model-file=mine.safetensors\n"
        "  curl --data-binary @cat.jpg 'http://127.0.0.1:8000/classify?top=5'",
};

constexpr Range kPorts = {.low = 0, .high = 65535}, kBatches = {.low = 1, .high = 65536};
// Samples of a million take gigabytes in most networks.
constexpr Range kQueues = {.low = 1, .high = 1'000'000};
constexpr Range kDelays = {.low = 0, .high = 60'000}, kMegabytes = {.low = 1, .high = 4096};
constexpr Range kConnections = {.low = 1, .high = 100'000},
                kSeconds = {.low = 0.05, .high = 86'400};

std::vector<OptionSpec> Flags(ServeOptions& options) {
  using enum OptionType;
  return {
      {.name = "model-file",
       .type = kPath,
       .help = "model that training saved; may be given several times, for several models",
       .field = &options.models,
       .example = "mine.safetensors",
       .repeats = true},
      {.name = "port",
       .type = kInt,
       .help = "port of TCP where it listens; 0: a free one, which is printed",
       .unit = "port",
       .range = kPorts,
       .field = &options.port},
      {.name = "listen",
       .type = kText,
       .help = "address of this host where it listens; 0.0.0.0: at all of them",
       .unit = "address",
       .field = &options.listen,
       .example = "0.0.0.0"},
      {.name = "certificate",
       .type = kPath,
       .help = "serve by TLS with this certificate (PEM), perhaps with those that signed it",
       .field = &options.certificate,
       .example = "server.pem"},
      {.name = "key",
       .type = kPath,
       .help = "private key of the certificate (PEM), which only its owner may read",
       .field = &options.key,
       .example = "server.key"},
      {.name = "token-file",
       .type = kPath,
       .help = "answer only requests with the token in this file, which only its owner may read",
       .field = &options.token_file,
       .example = "token"},
      {.name = "allow-unprotected",
       .type = kBool,
       .help = "listen for other hosts even without TLS or without a token",
       .field = &options.allow_unprotected},
      {.name = "allowed-hosts",
       .type = kText,
       .help = "other names by which callers may reach this server, separated by commas; without a "
               "token, a server of this host alone otherwise answers requests to localhost and its "
               "own address only",
       .unit = "names",
       .field = &options.allowed_hosts,
       .example = "models.internal,node1"},
      {.name = "max-batch",
       .type = kInt,
       .help = "most samples that are computed together; memory grows with it",
       .unit = "samples",
       .range = kBatches,
       .field = &options.max_batch},
      {.name = "max-delay",
       .type = kReal,
       .help = "how long a sample may wait for others to share a batch; 0: it is computed as soon "
               "as the batch before is done",
       .unit = "milliseconds",
       .range = kDelays,
       .field = &options.max_delay},
      {.name = "max-queue",
       .type = kInt,
       .help = "most samples that wait, and most in a request; others are refused",
       .unit = "samples",
       .range = kQueues,
       .field = &options.max_queue},
      {.name = "max-body",
       .type = kInt,
       .help = "largest body of a request; all bodies together may have 16 times as much",
       .unit = "MB",
       .range = kMegabytes,
       .field = &options.max_body},
      {.name = "max-connections",
       .type = kInt,
       .help = "most connections at a time; others wait",
       .unit = "connections",
       .range = kConnections,
       .field = &options.max_connections},
      {.name = "max-connections-per-address",
       .type = kInt,
       .help = "most connections at a time from one address; others are closed; 0: any number",
       .unit = "connections",
       .range = {.low = 0, .high = 100'000},
       .field = &options.address_connections},
      {.name = "timeout",
       .type = kReal,
       .help = "how long a caller may take to send a request, to read an answer, and to send the "
               "next request",
       .unit = "seconds",
       .range = kSeconds,
       .field = &options.timeout},
      {.name = "stop-timeout",
       .type = kReal,
       .help = "how long the server answers after SIGTERM",
       .unit = "seconds",
       .range = kSeconds,
       .field = &options.stop_timeout},
      {.name = "math-mode",
       .type = kWord,
       .help = "number types to compute with; bf16 and int8 are usually faster; int8 needs files "
               "that quantize wrote",
       .words = "fp32,bf16,int8",
       .field = &options.math_mode},
      LikeLauncher("log-format", &options.log_format),
  };
}

absl::Status Run(const std::vector<std::string>& arguments) {
  DTNN_RETURN_IF_ERROR(EnterUserDirectory());
  ServeOptions options;
  const std::vector<OptionSpec> flags = Flags(options);
  DTNN_ASSIGN_OR_RETURN(const ToolRequest request, ParseToolFlags(arguments, flags));
  if (request.action == Action::kHelp) {
    std::cout << ToolHelp(kProgramText, flags, request.help_topic);
    return absl::OkStatus();
  }
  BeginLog(options.log_format, {.program = "serve"});
  return Serve(options, std::cout, std::cerr);
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  return dtnn::RunProgram(dtnn::kProgramText.name, argc, argv, "use a smaller --max-batch",
                          dtnn::Run);
}
