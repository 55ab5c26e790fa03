"""Playing in the browser: `getbit play`. Needs the extra `[web]`, but for `games`, `agents` and `advice`, which know no network."""
