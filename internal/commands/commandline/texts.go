package commandline

// FirstScreen is what the program says without arguments, within 80 columns.
const FirstScreen = `How large should a cache be, which policy should it have, what does it save?
cachesim replays the log of your server and says how far from the best it is.

  cachesim access.log               the answer on one screen: nginx, Squid, S3,
                                    redis-cli MONITOR, blkparse, CSV, Parquet...
  cachesim logs/*.gz                several files are one log
  cachesim vllm.log --kv model=llama-3.1-70b
                                    prompts: GiB of keys and values; vLLM,
                                    SGLang, LiteLLM, OpenAI's API
  cachesim run access.log -o out    every figure, how each is known, and a page
  cachesim curve access.log         hit ratios over all capacities
  cachesim check baseline.jsonl     in CI: has a hit ratio changed?
  cachesim reproduce --list         published figures that it can reproduce

cachesim --help lists the commands, cachesim formats the kinds of logs.
`

// CommandsScreen has all commands.
const CommandsScreen = `Usage: cachesim LOG...              the answer on one screen
       cachesim COMMAND [flags]     cachesim COMMAND --help has examples

  cachesim access.log               what size, which policy, what it saves
  cachesim run access.log -o out    every figure, how each is known, and a page
  cachesim curve access.log         hit ratios over all capacities
  cachesim stat access.log          requests, objects, bytes, popularity, reuse
  cachesim explain access.log       why requests hit and miss, one by one
  cachesim audit access.log         why did the server hit less than a replay?
  cachesim compare old new          what differs between runs
  cachesim check baseline.jsonl     in CI: has a hit ratio changed?
  cachesim reproduce --list         published figures that it can reproduce

Other commands
  traces          convert, gen, embed, join
  experiments     sweep, plot, adversary, challenge, judge
  predictors      train, predict-eval
  lists of        policies, caches, servers, formats, metrics, admissions,
                  allocators, prefetchers, predictors, routers, models, kv,
                  rules, retrievers, devices
  this program    help, version, completion

cachesim help all says what each does, cachesim help COMMAND has all its flags.
`
